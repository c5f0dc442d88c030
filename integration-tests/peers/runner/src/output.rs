//! Where the results go: files, and the documents that show them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::figures::Results;
use crate::run::Run;
use crate::setup::Setup;
use crate::verdict::{Verdict, verdicts};
use crate::{chart, table};

/// The folder of the peers.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Between these lines of a document stands the summary.
const BEGIN: &str = "<!-- written by integration-tests/peers -->";
const END: &str = "<!-- end of what is written by integration-tests/peers -->";

/// All that a measurement has found.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Measured {
    pub(crate) setup: Setup,
    pub(crate) runs: Vec<Run>,
    /// What went wrong, in words.
    pub(crate) failures: Vec<String>,
}

impl Measured {
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("runs.json");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Keeps the runs, so that nothing is lost if the next one does not end.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(
            folder.join("runs.json"),
            serde_json::to_string(self)? + "\n",
        )?;
        Ok(())
    }

    /// Writes tables and chart, and shows the tables. Answers whether all is well.
    pub(crate) fn report(&self, folder: &Path) -> Result<bool> {
        let results = Results::of(&self.runs);
        let verdicts = verdicts(&results);
        let all = table::all(&self.setup, &results, &verdicts, &self.failures);
        print!("{all}");
        fs::write(folder.join("results.md"), all)?;
        fs::write(folder.join("cpu.svg"), chart::svg(&results))?;
        let reached = verdicts.iter().all(|Verdict { reached, .. }| *reached);
        Ok(reached && self.failures.is_empty())
    }

    /// Puts the summary into the documents that show it.
    pub(crate) fn publish(&self) -> Result<()> {
        let summary = table::summary(&self.setup, &Results::of(&self.runs));
        for (document, folder) in [
            ("README.md", "results"),
            ("../../README.md", "integration-tests/peers/results"),
        ] {
            let path = Path::new(PEERS).join(document);
            let text = fs::read_to_string(&path)?;
            let shown = format!(
                "{summary}\n![CPU time per record, by topic and client]({folder}/cpu.svg)\n\nAll figures, and what is reached: [results]({folder}/results.md).\n"
            );
            fs::write(
                &path,
                between(&text, &shown).with_context(|| path.display().to_string())?,
            )?;
        }
        Ok(())
    }
}

/// The folder of the results that the documents show.
pub(crate) fn published() -> PathBuf {
    Path::new(PEERS).join("results")
}

/// The document with other words between the two marks.
fn between(document: &str, words: &str) -> Result<String> {
    let (before, rest) = document
        .split_once(BEGIN)
        .context("the mark of the summary is gone")?;
    let (_, after) = rest
        .split_once(END)
        .context("the mark after the summary is gone")?;
    Ok(format!("{before}{BEGIN}\n\n{words}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() -> Result<()> {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = between(&document, "new\n")?;
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(between(&new, "new\n")?, new);
        assert!(between("no marks", "new").is_err());
        Ok(())
    }

    #[test]
    fn the_documents_have_their_marks() -> Result<()> {
        for document in ["README.md", "../../README.md"] {
            between(&fs::read_to_string(Path::new(PEERS).join(document))?, "")?;
        }
        Ok(())
    }
}
