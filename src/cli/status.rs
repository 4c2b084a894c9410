//! `status`: one screen of the running daemon's state, worst first.

use std::path::{Path, PathBuf};

use super::out::{Out, colour_on_stdout};
use super::{CliError, DaemonArg, Exit, config_files, exit, status_screen};
use crate::edge::control::{self, ControlError};
use crate::logic::config::ConfigFile;
use crate::logic::health::{State, Status};

/// Arguments of `status`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which daemon to ask.
    #[command(flatten)]
    pub daemon: DaemonArg,
    /// Print the same fields as JSON.
    #[arg(long)]
    pub json: bool,
    /// Exit 0 when ready, 1 when degraded, 2 when down.
    #[arg(long)]
    pub check: bool,
}

/// Where the daemon listens when no config says otherwise.
const SOCKET_DEFAULT: &str = "/run/geofenced/control.sock";

/// Runs it. A `--check` ends with 0, 1 or 2 whatever happens: who asks must not mistake a missing
/// right or a full disk for a fourth state.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let asked = socket(&args.daemon).and_then(|socket| ask::<Status>(&socket, "/v1/status"));
    let status = match asked {
        Err(error) if args.check => return Err(CliError::new(Exit::Down, error.message)),
        asked => asked?,
    };
    let verdict = match status.state {
        State::Degraded if args.check => Exit::Degraded,
        _ => Exit::Ok,
    };
    match show(&status, args.json) {
        Err(error) if args.check => Err(CliError::new(verdict, error.message)),
        shown => shown.map(|()| verdict),
    }
}

fn show(status: &Status, json: bool) -> Result<(), CliError> {
    let mut out = Out::new();
    if json {
        let text = serde_json::to_string_pretty(status)
            .map_err(|error| CliError::new(Exit::Software, error.to_string()))?;
        out.line(&text)?;
    } else {
        out.text(&status_screen::screen(status, colour_on_stdout()))?;
    }
    out.finish()
}

/// The socket that was named, or that the config names, or the usual one.
pub(super) fn socket(daemon: &DaemonArg) -> Result<PathBuf, CliError> {
    if let Some(path) = &daemon.socket {
        return Ok(path.clone());
    }
    let Some(config) = &daemon.config.config else {
        return Ok(installed_socket(config_files::gather(None)));
    };
    let files = config_files::gather(Some(config))?;
    Ok(PathBuf::from(config_files::load(&files)?.config.control.socket))
}

/// The socket of the installed config. One that cannot be read or is wrong by now stops nobody
/// from asking the daemon, which runs with what it read at its start.
fn installed_socket(files: Result<Vec<ConfigFile>, CliError>) -> PathBuf {
    match files.and_then(|files| config_files::load(&files)) {
        Ok(loaded) => PathBuf::from(loaded.config.control.socket),
        Err(error) => {
            if error.exit != Exit::NoInput {
                exit::say(&format!("{}\nasking at {SOCKET_DEFAULT} instead", error.message));
            }
            PathBuf::from(SOCKET_DEFAULT)
        }
    }
}

/// Asks the daemon; an answer that is no success is an error with its words.
pub(super) fn ask<T: serde::de::DeserializeOwned>(
    socket: &Path,
    path: &str,
) -> Result<T, CliError> {
    serde_json::from_slice(&fetch(socket, path)?).map_err(|error| {
        let message = format!("the daemon's answer cannot be read ({error}); is it this version?");
        CliError::new(Exit::TempFail, message)
    })
}

/// The answer as it is.
pub(super) fn fetch(socket: &Path, path: &str) -> Result<Vec<u8>, CliError> {
    let (status, body) = control::get(socket, path).map_err(|error| {
        let exit = match error {
            ControlError::NoDaemon(_) => Exit::Unavailable,
            ControlError::NotAllowed { .. } => Exit::NoPermission,
            _ => Exit::TempFail,
        };
        CliError::new(exit, error.to_string())
    })?;
    if status == 200 { Ok(body) } else { Err(refusal(status, &body)) }
}

/// An answer that is no success, in the daemon's words.
fn refusal(status: u16, body: &[u8]) -> CliError {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let words = json.as_ref().and_then(|json| json["error"].as_str());
    let text = words.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    let exit = match status {
        400 => Exit::Usage,
        403 => Exit::NoPermission,
        _ => Exit::TempFail,
    };
    CliError::new(exit, format!("the daemon answers {status}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_installed_config_leaves_the_usual_socket() {
        let file = |text: &str| Ok(vec![ConfigFile::new("c.toml", text)]);
        let denied = Err(CliError::new(Exit::NoPermission, "cannot read it"));
        let absent = Err(CliError::new(Exit::NoInput, "there is none"));
        for files in [file("[gateway"), file("[gatway]\nid = 1\n"), denied, absent] {
            assert_eq!(installed_socket(files), Path::new(SOCKET_DEFAULT));
        }
        let good = "[gateway]\nid = \"a\"\n[[source]]\nkind = \"serial\"\npath = \"/dev/x\"\n\
                    [zones]\nfiles = [\"z\"]\n[uplink]\nkind = \"none\"\n\
                    [control]\nsocket = \"/run/x.sock\"\n";
        assert_eq!(installed_socket(file(good)), Path::new("/run/x.sock"));
    }

    #[test]
    fn a_refusal_is_told_in_its_words() {
        for (status, body, exit, text) in [
            (400, r#"{"error":"n=0: no"}"#, Exit::Usage, "the daemon answers 400: n=0: no"),
            (403, r#"{"error":"no"}"#, Exit::NoPermission, "the daemon answers 403: no"),
            (503, "busy", Exit::TempFail, "the daemon answers 503: busy"),
        ] {
            assert_eq!(refusal(status, body.as_bytes()), CliError::new(exit, text));
        }
    }

    /// 0, 1 and 2 are all there is, whatever the reason not to get an answer.
    #[test]
    fn a_check_that_cannot_ask_is_down() {
        let dir = tempfile::tempdir().unwrap();
        let broken = dir.path().join("c.toml");
        std::fs::write(&broken, "[gateway").unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let silent = dir.path().join("silent.sock");
        // Takes the connection and hangs up.
        let listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
        let hangs_up = std::thread::spawn(move || drop(listener.accept()));
        let at = |socket| DaemonArg { socket: Some(socket), ..DaemonArg::default() };
        let config = crate::cli::ConfigArg { config: Some(broken) };
        for daemon in [
            at(dir.path().join("none.sock")),
            at(file),
            at(silent),
            DaemonArg { config, socket: None },
        ] {
            let args = Args { daemon, json: false, check: true };
            assert_eq!(run(&args).unwrap_err().exit, Exit::Down, "{args:?}");
        }
        hangs_up.join().unwrap();
    }
}
