//! One table, three writers: HTML, Markdown and CSV say the same numbers.

use crate::escape;
use crate::number::MISSING;
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A name or word.
    Text(String),
    /// A number and how readers see it; CSV and JSON have the number itself.
    Number(f64, String),
    /// There is nothing to measure; the word says so to readers, and CSV has nothing.
    Absent(&'static str),
    /// Nothing was measured.
    Missing,
}

impl Cell {
    /// A number through its formatter, or nothing.
    pub fn number(value: Option<f64>, shown: impl Fn(f64) -> String) -> Self {
        value.map_or(Self::Missing, |v| Self::Number(v, shown(v)))
    }

    /// A word.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn shown(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(_, text) => text,
            Self::Absent(word) => word,
            Self::Missing => MISSING,
        }
    }
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// Unit of all of its numbers; it stands in the head.
    pub unit: Option<&'static str>,
    /// Whether it holds numbers.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn text(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            unit: None,
            numeric: false,
        }
    }

    /// A column of microseconds.
    pub fn time(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            unit: Some("µs"),
            numeric: true,
        }
    }

    /// A column of numbers without a unit.
    pub fn number(head: impl Into<String>) -> Self {
        Self {
            unit: None,
            ..Self::time(head)
        }
    }

    fn title(&self) -> String {
        match self.unit {
            Some(unit) => format!("{} ({unit})", self.head),
            None => self.head.clone(),
        }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// How many of the first columns name the row.
    pub keys: usize,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// HTML with a caption and scopes; every name is escaped and keeps its own direction of writing.
    pub fn html(&self) -> String {
        let mut out = String::from("<table>\n");
        let _ = writeln!(out, "<caption>{}</caption>", escape::markup(&self.caption));
        out.push_str("<thead>\n<tr>");
        for column in &self.columns {
            let class = if column.numeric { " class=\"n\"" } else { "" };
            let head = escape::markup(&column.head);
            let unit = column.unit.map_or(String::new(), |u| format!(" ({u})"));
            let _ = write!(out, "<th scope=\"col\"{class}><bdi>{head}</bdi>{unit}</th>");
        }
        out.push_str("</tr>\n</thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                let shown = escape::markup(cell.shown());
                let class = if column.numeric { " class=\"n\"" } else { "" };
                let _ = match i < self.keys {
                    true => write!(out, "<th scope=\"row\"><bdi>{shown}</bdi></th>"),
                    false if column.numeric => write!(out, "<td{class}>{shown}</td>"),
                    false => write!(out, "<td><bdi>{shown}</bdi></td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        out
    }

    /// A Markdown table; the caption is the reader's to place.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for column in &self.columns {
            let _ = write!(out, "| {} ", escape::markdown(&column.title()));
        }
        out.push_str("|\n");
        for column in &self.columns {
            out.push_str(if column.numeric { "| ---: " } else { "| --- " });
        }
        out.push_str("|\n");
        for row in &self.rows {
            for cell in row {
                let _ = write!(out, "| {} ", escape::markdown(cell.shown()));
            }
            out.push_str("|\n");
        }
        out
    }

    /// CSV after RFC 4180 with every digit of each number; nothing stands where nothing was measured.
    ///
    /// # Errors
    /// Never for a table in memory.
    pub fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(Column::title))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Number(value, _) => value.to_string(),
                Cell::Absent(_) | Cell::Missing => String::new(),
            }))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// One JSON object a row, by column title; absent where nothing was measured.
    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns);
            let fields = cells.filter_map(|(cell, column)| {
                let value = match cell {
                    Cell::Text(text) => json!(text),
                    Cell::Number(value, _) => json!(value),
                    Cell::Absent(_) | Cell::Missing => return None,
                };
                Some((column.title(), value))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            caption: "A & B".to_string(),
            columns: vec![Column::text("Operation"), Column::time("<i>|\"x\"")],
            keys: 1,
            rows: vec![
                vec![
                    Cell::text("a,|b"),
                    Cell::number(Some(1.25), crate::number::time),
                ],
                vec![Cell::text("c"), Cell::Missing],
            ],
        }
    }

    #[test]
    fn html() {
        insta::assert_snapshot!(table().html(), @r#"
        <table>
        <caption>A &amp; B</caption>
        <thead>
        <tr><th scope="col"><bdi>Operation</bdi></th><th scope="col" class="n"><bdi>&lt;i&gt;|&quot;x&quot;</bdi> (µs)</th></tr>
        </thead>
        <tbody>
        <tr><th scope="row"><bdi>a,|b</bdi></th><td class="n">1.25</td></tr>
        <tr><th scope="row"><bdi>c</bdi></th><td class="n">—</td></tr>
        </tbody>
        </table>
        "#);
    }

    #[test]
    fn markdown() {
        insta::assert_snapshot!(table().markdown(), @r#"
        | Operation | &lt;i&gt;\|"x" (µs) |
        | --- | ---: |
        | a,\|b | 1.25 |
        | c | — |
        "#);
    }

    #[test]
    fn csv() {
        insta::assert_snapshot!(table().csv().unwrap(), @r#"
        Operation,"<i>|""x"" (µs)"
        "a,|b",1.25
        c,
        "#);
    }
}
