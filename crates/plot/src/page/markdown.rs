//! The page as Markdown.

use super::{Block, Page};
use crate::escape;
use crate::figures::Figure;
use std::fmt::Write as _;

impl Page<'_> {
    /// The whole page.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("# {}\n", escape::markdown(self.title));
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => {
                    let _ = writeln!(out, "## {text}");
                }
                Block::Lede(text) => {
                    let _ = writeln!(out, "{}", escape::markdown(text));
                }
                Block::Prose(text) => {
                    let _ = writeln!(out, "{}", text.trim());
                }
                Block::Facts(facts) => {
                    for (name, value) in facts {
                        let _ = writeln!(out, "- **{name}:** {}", escape::markdown(value));
                    }
                }
                Block::Figure(figure, _, prose) => self.markdown_figure(&mut out, figure, prose),
                Block::LeftOut(all) => {
                    for left_out in *all {
                        let reason = escape::markdown(&left_out.reason);
                        let _ = writeln!(out, "- *{}* is left out: {reason}.", left_out.title);
                    }
                }
                Block::Files(files) => {
                    for (label, address) in files {
                        let _ = writeln!(out, "- [{label}]({address})");
                    }
                }
            }
        }
        out
    }

    fn markdown_figure(&self, out: &mut String, figure: &Figure, prose: &str) {
        let file = format!("{}/{}", self.figures, figure.name());
        let alternative = escape::markup(&figure.frame.alternative);
        let _ = writeln!(out, "### {}\n", escape::markdown(&figure.frame.title));
        if !prose.trim().is_empty() {
            let _ = writeln!(out, "{}\n", prose.trim());
        }
        let _ = write!(
            out,
            "<picture>\n<source media=\"(max-width: 600px)\" srcset=\"{file}.phone.svg\">\n\
             <img src=\"{file}.svg\" alt=\"{alternative}\">\n</picture>\n\n"
        );
        let _ = write!(
            out,
            "[SVG]({file}.svg) · [PNG]({file}.png) · [CSV]({file}.csv)\n\n\
             <details>\n<summary>{}</summary>\n\n{}\n</details>\n",
            escape::markup(&figure.table.caption),
            figure.table.markdown()
        );
    }
}
