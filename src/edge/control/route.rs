//! What may be asked, by whom: pure, so that it can be tested as a table.
//!
//! Always holds: an unknown path, key or value is refused in words, never guessed.
//! Does not know: sockets, or the answers.

use super::{Method, Peer, Request, Response};
use crate::logic::config::parse_duration;
use crate::units::{EventTime, Span};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Events in one answer at most: a screenful is 20, and 10,000 are some 10 MB.
pub const EVENTS_MAX: u32 = 10_000;
/// Without `n`: a screenful.
const EVENTS_DEFAULT: u32 = 20;

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Shows something.
    Read,
    /// Changes something.
    Change,
}

/// Who may change something: the numbers of the daemon's user and of the admins' group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// The daemon's own user.
    pub owner_uid: u32,
    /// `[control] admin_group`, where there is such a group.
    pub admin_group: Option<u32>,
}

impl Rights {
    /// The owner is whoever runs the daemon; a group that does not exist has no members. The
    /// group that reads is the socket file's, and asked of the kernel alone.
    pub fn of_group(admin_group: &str) -> Self {
        let found = nix::unistd::Group::from_name(admin_group).ok().flatten();
        let owner_uid = nix::unistd::geteuid().as_raw();
        Self { owner_uid, admin_group: found.map(|group| group.gid.as_raw()) }
    }
}

/// Whoever could connect reads: the mode and the group of the socket's file are the permission.
/// Asking for the peer's groups again would be wrong, because the user database does not know
/// those that a service or a container was given. Root, the daemon's user and admins change.
pub fn may(access: Access, peer: &Peer, rights: &Rights) -> bool {
    let admin = rights.admin_group.is_some_and(|gid| peer.gids.contains(&gid));
    match access {
        Access::Read => true,
        Access::Change => admin || peer.uid == 0 || peer.uid == rights.owner_uid,
    }
}

/// What can be asked so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// `GET /v1/status`: the snapshot.
    Status,
    /// `GET /v1/events`: committed events.
    Events(EventsQuery),
    /// `GET /v1/record`: what sources gave, no older than this where it is given.
    Record(Option<Span>),
}

/// Which events: the newest `n` of those for which every condition holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventsQuery {
    /// At most so many.
    pub n: u32,
    /// Not before this event time.
    pub since: Option<EventTime>,
    /// Of this zone: `layer/zone`, or the zone's id alone.
    pub zone: Option<String>,
    /// Only those numbered higher: how a follower goes on.
    pub after: Option<u64>,
    /// Where there are none yet, wait this many seconds for one to be committed.
    pub wait_s: u64,
}

/// The longest wait for an event: shorter than a client's patience.
pub const WAIT_S_MAX: u64 = 8;

/// Reads a request, or says what is wrong with it.
pub fn route(request: &Request, rights: &Rights) -> Result<Ask, Response> {
    let access = if request.method == Method::GET { Access::Read } else { Access::Change };
    if !may(access, &request.peer, rights) {
        return Err(Response::error(403, "only root and the admins' group may change something"));
    }
    let ask = match request.path.as_str() {
        "/v1/status" => Ask::Status,
        "/v1/events" => {
            Ask::Events(events_query(&request.query).map_err(|why| Response::error(400, &why))?)
        }
        "/v1/record" => {
            Ask::Record(record_query(&request.query).map_err(|why| Response::error(400, &why))?)
        }
        other => {
            let text =
                format!("no such path: {other}; there are /v1/status, /v1/events and /v1/record");
            return Err(Response::error(404, &text));
        }
    };
    match request.method {
        Method::GET => Ok(ask),
        _ => Err(Response::error(405, "this path is for reading only: use GET")),
    }
}

fn record_query(query: &[(String, String)]) -> Result<Option<Span>, String> {
    let mut since = None;
    for (key, value) in query {
        match key.as_str() {
            "since" => {
                since = Some(parse_duration(value).map_err(|e| format!("since={value}: {e}"))?);
            }
            _ => return Err(format!("unknown key `{key}`; there is since")),
        }
    }
    Ok(since)
}

fn events_query(query: &[(String, String)]) -> Result<EventsQuery, String> {
    let mut asked =
        EventsQuery { n: EVENTS_DEFAULT, since: None, zone: None, after: None, wait_s: 0 };
    for (key, value) in query {
        let bad = |wanted: &str| format!("{key}={value}: {wanted}");
        match key.as_str() {
            "n" => {
                asked.n =
                    value.parse().ok().filter(|n| (1..=EVENTS_MAX).contains(n)).ok_or_else(
                        || bad(&format!("a number from 1 to {EVENTS_MAX} is needed")),
                    )?;
            }
            "since" => asked.since = Some(value.parse().map_err(|e| format!("since: {e}"))?),
            "zone" => asked.zone = Some(value.clone()),
            "after" => {
                asked.after = Some(value.parse().map_err(|_| bad("an event's seq is needed"))?);
            }
            "wait" => {
                let seconds = value.parse().ok().filter(|s| *s <= WAIT_S_MAX);
                asked.wait_s = seconds.ok_or_else(|| bad(&format!("0 to {WAIT_S_MAX} seconds")))?;
            }
            _ => return Err(format!("unknown key `{key}`; there are n, since, zone, after, wait")),
        }
    }
    Ok(asked)
}

/// `a=b&c=d` with percent signs and plus signs undone; what is not UTF-8 becomes U+FFFD.
pub(super) fn parse_query(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect()
}

fn decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

/// What may stand in a query value as it is, beside letters and digits.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b':');

/// The other half of the decoding: a value that may stand in a query as it is.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHTS: Rights = Rights { owner_uid: 900, admin_group: Some(902) };

    fn peer(uid: u32, gids: &[u32]) -> Peer {
        Peer { uid, gids: gids.to_vec() }
    }

    fn ask(method: Method, target: &str, peer: Peer) -> Result<Ask, Response> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query) = (path.to_owned(), parse_query(query));
        route(&Request { method, path, query, peer }, &RIGHTS)
    }

    #[test]
    fn reading_is_for_all_who_can_connect_and_changing_for_admins() {
        for (uid, gids, change) in [
            (0, vec![], true),
            (900, vec![900], true),
            (1000, vec![902], true),
            // Let in by a supplementary group that only the kernel knows of.
            (1000, vec![1000], false),
        ] {
            let peer = peer(uid, &gids);
            assert!(may(Access::Read, &peer, &RIGHTS), "{peer:?}");
            assert_eq!(may(Access::Change, &peer, &RIGHTS), change, "{peer:?}");
        }
        // A group that does not exist has no members.
        let none = Rights { admin_group: None, ..RIGHTS };
        assert!(!may(Access::Change, &peer(1000, &[0]), &none));
    }

    #[test]
    fn paths_and_queries_are_read_or_refused_in_words() {
        let root = || peer(0, &[]);
        assert_eq!(ask(Method::GET, "/v1/status", root()), Ok(Ask::Status));
        let plain =
            EventsQuery { n: EVENTS_DEFAULT, since: None, zone: None, after: None, wait_s: 0 };
        assert_eq!(ask(Method::GET, "/v1/events", root()), Ok(Ask::Events(plain)));
        assert_eq!(ask(Method::GET, "/v1/record", root()), Ok(Ask::Record(None)));
        let quarter = Some(Span::from_secs(900));
        assert_eq!(ask(Method::GET, "/v1/record?since=15min", root()), Ok(Ask::Record(quarter)));
        let since = "2026-11-30T12:00:00Z".parse().ok();
        let zone = Some("depots/h\u{f6}f 1".to_owned());
        let full = EventsQuery { n: 5, since, zone, after: Some(7), wait_s: 8 };
        let target = "/v1/events?n=5&since=2026-11-30T12:00:00Z&zone=depots%2Fh%C3%B6f+1&after=7\
                      &wait=8";
        assert_eq!(ask(Method::GET, target, root()), Ok(Ask::Events(full)));
        for (method, target, status, part) in [
            (Method::GET, "/v1/events?n=0", 400, "from 1 to"),
            (Method::GET, "/v1/events?wait=9", 400, "0 to 8 seconds"),
            (Method::GET, "/v1/events?n=10001", 400, "from 1 to"),
            (Method::GET, "/v1/events?since=noon", 400, "write it as"),
            (Method::GET, "/v1/events?after=x", 400, "seq"),
            (Method::GET, "/v1/events?zones=a", 400, "unknown key `zones`"),
            (Method::GET, "/v1/record?since=5m", 400, "since=5m"),
            (Method::GET, "/v1/record?from=5s", 400, "there is since"),
            (Method::GET, "/v2/status", 404, "/v1/status"),
            (Method::POST, "/v1/status", 405, "GET"),
        ] {
            let refusal = ask(method, target, root()).unwrap_err();
            let text = String::from_utf8(refusal.body).unwrap();
            assert!(refusal.status == status && text.contains(part), "{target}: {text}");
        }
        assert_eq!(ask(Method::GET, "/v1/status", peer(1, &[1])), Ok(Ask::Status));
        assert_eq!(ask(Method::POST, "/v1/status", peer(1, &[1])).unwrap_err().status, 403);
    }

    #[test]
    fn queries_survive_the_way_there_and_back() {
        for text in ["depots/höf 1", "a&b=c%", "+", "", "\u{0}\n", "100%2"] {
            let query = format!("zone={}", encode(text));
            assert_eq!(parse_query(&query), [("zone".to_owned(), text.to_owned())]);
        }
        assert_eq!(
            parse_query("a&%zz=%f&&%ff"),
            [
                ("a".into(), String::new()),
                ("%zz".into(), "%f".into()),
                ("\u{fffd}".into(), String::new()),
            ]
        );
    }
}
