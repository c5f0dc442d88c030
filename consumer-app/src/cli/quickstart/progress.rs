//! A progress bar, where stderr is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Disappears when dropped.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(what: &'static str, of: u64) -> Self {
        // hidden where stderr is no terminal
        let bar = ProgressBar::with_draw_target(Some(of), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg:10} {bar:40} {human_pos}/{human_len}")
        {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    pub(super) fn is_at(&self, count: u64) {
        self.0.set_position(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
