//! The page as Markdown.

use super::{Block, Page, Shown, one, parts, to};
use crate::escape;
use crate::number;
use crate::table::Table;
use mage_evidence::claims::Verdicts;
use std::fmt::Write as _;
use std::path::Path;

impl Page<'_> {
    /// The whole page.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("# {}\n", escape::markdown(self.title));
        for block in &self.blocks {
            out.push('\n');
            self.markdown_block(&mut out, block);
        }
        let index = to(&self.top, Path::new("docs/index.md"));
        let _ = writeln!(out, "\n[All results]({index})");
        out
    }

    fn markdown_block(&self, out: &mut String, block: &Block<'_>) {
        let _ = match block {
            Block::Heading(text) => writeln!(out, "## {}", escape::markdown(text)),
            Block::Lede(text) => writeln!(out, "{}", escape::markdown(text)),
            Block::CameOut(sentences) => write!(out, "{}", came_out(sentences)),
            Block::Prose(text) => writeln!(out, "{}", text.trim()),
            Block::Facts(facts) => {
                for (name, value) in facts {
                    let _ = writeln!(out, "- **{name}:** {}", escape::markdown(value));
                }
                Ok(())
            }
            Block::Tabs(_, figures) => {
                for (i, shown) in figures.iter().enumerate() {
                    if i > 0 {
                        out.push('\n');
                    }
                    self.markdown_figure(out, shown);
                }
                Ok(())
            }
            Block::Figure(shown) => {
                self.markdown_figure(out, shown);
                Ok(())
            }
            Block::LeftOut(all) => {
                for (title, reason) in all {
                    let (title, reason) = (escape::markdown(title), escape::markdown(reason));
                    let _ = writeln!(out, "- *{title}* is left out: {reason}.");
                }
                Ok(())
            }
            Block::Table(summary, table) => write!(out, "{}", details(summary, table)),
            Block::Claims(verdicts) => {
                markdown_claims(out, verdicts);
                Ok(())
            }
            Block::List { title, lines, open } => {
                let items: String = lines
                    .iter()
                    .map(|line| format!("- {}\n", escape::markdown(line)))
                    .collect();
                match open {
                    true => write!(out, "### {title}\n\n{items}"),
                    false => write!(
                        out,
                        "<details>\n<summary>{title}</summary>\n\n{items}\n</details>\n"
                    ),
                }
            }
            Block::Links(related) => {
                for page in *related {
                    let label = escape::markdown(&page.label);
                    let _ = writeln!(out, "- [{label}]({})", self.to(&page.markdown()));
                }
                Ok(())
            }
            Block::Commands(commands) => {
                for (i, (what, command)) in commands.iter().enumerate() {
                    if i > 0 {
                        out.push('\n');
                    }
                    let _ = writeln!(out, "{what}\n\n    {command}");
                }
                Ok(())
            }
            Block::Files(files) => {
                for file in *files {
                    let _ = writeln!(
                        out,
                        "- [{}]({}), {}, SHA-256 `{}`",
                        file.label,
                        self.to(&file.path),
                        number::bytes(file.bytes),
                        file.sha256
                    );
                }
                Ok(())
            }
        };
    }

    fn markdown_figure(&self, out: &mut String, shown: &Shown<'_>) {
        let figure = shown.figure;
        let file = self.figure(figure);
        let alternative = escape::markup(&figure.frame.alternative);
        let _ = writeln!(out, "### {}\n", escape::markdown(&figure.frame.title));
        if !shown.words.trim().is_empty() {
            let _ = writeln!(out, "{}\n", shown.words.trim());
        }
        let _ = write!(
            out,
            "<picture>\n<source media=\"(max-width: 600px)\" srcset=\"{file}.phone.svg\">\n\
             <img src=\"{file}.svg\" alt=\"{alternative}\">\n</picture>\n\n"
        );
        let _ = write!(
            out,
            "[SVG]({file}.svg) · [PNG]({file}.png) · [CSV]({file}.csv)\n\n{}",
            details(&figure.table.caption, &figure.table)
        );
    }
}

/// What came out, as a list.
pub(super) fn came_out(sentences: &[String]) -> String {
    sentences
        .iter()
        .map(|sentence| format!("- {}\n", escape::markdown(sentence)))
        .collect()
}

fn details(summary: &str, table: &Table) -> String {
    format!(
        "<details>\n<summary>{}</summary>\n\n{}\n</details>\n",
        escape::markup(summary),
        table.markdown()
    )
}

fn markdown_claims(out: &mut String, verdicts: &Verdicts) {
    for claim in &verdicts.claims {
        let _ = writeln!(
            out,
            "{}. {} **{}**",
            claim.number,
            claim.statement,
            verdicts.by.words(claim.outcome())
        );
    }
    for claim in &verdicts.claims {
        let column = verdicts.by.column();
        let summary = format!("{} {}: {column} and here", one(verdicts), claim.number);
        let _ = write!(out, "\n{}", details(&summary, &parts(verdicts, claim)));
    }
}
