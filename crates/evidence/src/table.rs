//! Tables as text: aligned for a terminal, or Markdown.

use std::fmt::Write as _;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a head.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &[(&str, Align)]) -> Self {
        Self {
            head: head
                .iter()
                .map(|(name, align)| ((*name).to_string(), *align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the head are dropped, missing ones are empty.
    pub fn push(&mut self, mut row: Vec<String>) {
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// Aligned by spaces; no line ends in one.
    pub fn text(&self) -> String {
        let names: Vec<String> = self.head.iter().map(|(name, _)| name.clone()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&names).chain(&self.rows).collect();
        let width = |column: usize| {
            let lengths = all.iter().map(|row| row[column].chars().count());
            lengths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for row in &all {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.head).zip(&widths) {
                let _ = match align {
                    Align::Left => write!(line, "{cell:<width$}  "),
                    Align::Right => write!(line, "{cell:>width$}  "),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// As Markdown; a pipe in a cell stays a pipe.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escape = |cell: &String| cell.replace('|', "\\|").replace('\n', " ");
        let mut text = line(self.head.iter().map(|(name, _)| escape(name)).collect());
        text += &line(
            self.head
                .iter()
                .map(|(_, align)| match align {
                    Align::Left => "---".into(),
                    Align::Right => "---:".into(),
                })
                .collect(),
        );
        for row in &self.rows {
            text += &line(row.iter().map(escape).collect());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_and_escaped() {
        let mut table = Table::new(&[("name", Align::Left), ("µs", Align::Right)]);
        table.push(vec!["a|b".into(), "1.0".into()]);
        table.push(vec!["c".into()]);
        assert_eq!(table.text(), "name   µs\na|b   1.0\nc\n");
        assert_eq!(
            table.markdown(),
            "| name | µs |\n| --- | ---: |\n| a\\|b | 1.0 |\n| c |  |\n"
        );
    }
}
