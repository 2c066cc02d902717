//! `Host` as the backend that runs dataflow primitives.

use fulgurite_dataflow::{
    Backend, BroadcastId, Callers, Capacity, DatasetId, FoundFile, Primitive, RangeAccount,
    RangeResult, Reply, asking_operator,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use jni::objects::JByteArray;
use serde::{Deserialize, Serialize};

use crate::{
    callers::JvmCallers,
    host::JvmHost,
    registry::{Registry, registry},
};

/// The request of `Host.apply`.
#[derive(Serialize)]
struct HostRequest<'a> {
    #[serde(flatten)]
    primitive: &'a Primitive,
    /// For which operator of the script: `ba(+*) mlogreg.dml:42`.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<&'a str>,
}

/// The reply of `Host.apply`; sizes of -1 are unknown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostReply {
    dataset: Option<u64>,
    broadcast: Option<u64>,
    rows: Option<i64>,
    cols: Option<i64>,
    nnz: Option<i64>,
    payload: Option<i64>,
    capacity: Option<Capacity>,
    #[serde(default)]
    ranges: Vec<HostRange>,
    file: Option<FoundFile>,
    folder: Option<String>,
    /// In place of all else: why a file cannot be read or written.
    problem: Option<Problem>,
}

/// What is wrong with a file, and what to do about it: an error of the script's statement, and no exception.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    message: String,
    help: String,
}

/// What a range of iterations gave; the blocks are now ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostRange {
    blocks: i64,
    account: RangeAccount,
}

impl Backend for JvmHost {
    fn name(&self) -> &str {
        "spark"
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        let request = request(primitive, asking_operator().as_deref())?;
        let payload = payload.cloned();
        let reply = self.call("apply", move |env, host| {
            let request = env.byte_array_from_slice(&request)?;
            // Made last: from the call on, the callee owns it.
            let payload = payload.map_or(0, |matrix| registry().insert_matrix(matrix));
            let reply: JByteArray<'_> = host.apply(env, &request, payload)?;
            if reply.is_null() {
                return Ok(None);
            }
            env.convert_byte_array(&reply).map(Some)
        })?;
        let reply = reply.ok_or_else(|| Error::backend("Host.apply returned null"))?;
        parse_reply(&reply, registry())
    }

    fn callers(&self, threads: usize) -> Result<Box<dyn Callers>> {
        Ok(Box::new(JvmCallers::open(self.shared(), threads)?))
    }
}

fn request(primitive: &Primitive, operator: Option<&str>) -> Result<Vec<u8>> {
    let request = HostRequest {
        primitive,
        operator,
    };
    serde_json::to_vec(&request)
        .map_err(|error| Error::internal(format!("a primitive could not be written: {error}")))
}

fn parse_reply(text: &[u8], registry: &Registry) -> Result<Reply> {
    let reply: HostReply = serde_json::from_slice(text).map_err(|error| {
        Error::backend(format!(
            "the reply of Host.apply is not understood: {error}"
        ))
    })?;
    if let Some(Problem { message, help }) = reply.problem {
        return Err(Error::io(message).with_help(help));
    }
    let known = |size: Option<i64>| size.and_then(|size| u64::try_from(size).ok());
    let payload = match reply.payload {
        None | Some(0) => None,
        Some(handle) => Some(registry.take_matrix(handle)?),
    };
    let ranges = reply.ranges.into_iter().map(|range| {
        let blocks = registry.take(range.blocks)?.to_vec();
        let account = range.account;
        Ok(RangeResult { account, blocks })
    });
    Ok(Reply {
        dataset: reply.dataset.map(DatasetId),
        broadcast: reply.broadcast.map(BroadcastId),
        rows: known(reply.rows),
        cols: known(reply.cols),
        nnz: known(reply.nnz),
        payload,
        capacity: reply.capacity,
        ranges: ranges.collect::<Result<_>>()?,
        file: reply.file,
        folder: reply.folder,
    })
}

#[cfg(test)]
mod tests {
    use fulgurite_dataflow::RangePart;
    use fulgurite_matrix::Block;
    use fulgurite_worker::TaskWork;
    use serde_json::json;

    use super::*;
    use crate::describe::describe;

    #[test]
    fn a_reply_hands_its_payload_over() {
        let registry = Registry::new();
        let matrix = MatrixBlock::filled(2, 2, 1.0).unwrap();
        let handle = registry.insert_matrix(matrix.clone());
        let text = format!(r#"{{"dataset": 3, "rows": 5, "nnz": -1, "payload": {handle}}}"#);
        let reply = parse_reply(text.as_bytes(), &registry).unwrap();
        let expected = Reply {
            dataset: Some(DatasetId(3)),
            rows: Some(5),
            payload: Some(matrix),
            ..Reply::default()
        };
        assert_eq!(reply, expected);
        assert_eq!(registry.live().handles, 0);
        assert_eq!(parse_reply(b"{}", &registry).unwrap(), Reply::default());
        assert!(parse_reply(text.as_bytes(), &registry).is_err());
    }

    #[test]
    fn ranges_of_iterations_hand_their_blocks_over() {
        let registry = Registry::new();
        let sum = RangePart::Sum {
            variable: "S".into(),
            iteration: 1,
        };
        let account = RangeAccount {
            parts: vec![sum],
            lines: vec![(1, "a \"line\"".into())],
            failed: Some((2, Error::stopped("no more"))),
            ..RangeAccount::default()
        };
        let blocks = vec![Block::new(3, 4, MatrixBlock::filled(2, 2, 1.0).unwrap())];
        let given = RangeResult { account, blocks };
        let handle = registry.insert_range(given.clone(), TaskWork::default());
        // As Java passes it on.
        let described = describe(&registry.entry(handle).unwrap()).unwrap();
        let described: serde_json::Value = serde_json::from_slice(&described).unwrap();
        let reply = json!({"ranges": [{"blocks": handle, "account": described["account"]}]});
        let reply = parse_reply(reply.to_string().as_bytes(), &registry).unwrap();
        assert_eq!(reply.ranges, [given]);
        assert_eq!(registry.live().handles, 0);
    }

    #[test]
    fn a_reply_tells_of_files() {
        let registry = Registry::new();
        let file = json!({"bytes": 7, "head": "PAR\u{e9}", "metadata": "{}"});
        let reply = json!({"file": file, "folder": "/tmp/x"}).to_string();
        let reply = parse_reply(reply.as_bytes(), &registry).unwrap();
        let found = reply.file.unwrap();
        assert_eq!((found.bytes, found.head_bytes()), (7, b"PAR\xe9".to_vec()));
        assert_eq!(reply.folder.as_deref(), Some("/tmp/x"));
        let problem = json!({"problem": {"message": "'hdfs:/x' is not there", "help": "look"}});
        let error = parse_reply(problem.to_string().as_bytes(), &registry).unwrap_err();
        assert_eq!(error.kind(), fulgurite_error::ErrorKind::Io);
        assert_eq!(error.help(), Some("look"));
    }

    #[test]
    fn a_request_names_the_operator_that_asks() {
        let persist = Primitive::Persist {
            input: DatasetId(3),
        };
        let text = |operator| String::from_utf8(request(&persist, operator).unwrap()).unwrap();
        insta::assert_snapshot!(text(None), @r#"{"primitive":"persist","input":3}"#);
        insta::assert_snapshot!(text(Some("b(+) a.dml:7")), @r#"{"primitive":"persist","input":3,"operator":"b(+) a.dml:7"}"#);
    }

    #[test]
    fn a_reply_that_is_not_understood_is_the_backends_fault() {
        let registry = Registry::new();
        for text in ["", "[]", r#"{"datasets": 1}"#, r#"{"dataset": -1}"#] {
            let error = parse_reply(text.as_bytes(), &registry).unwrap_err();
            assert_eq!(
                error.kind(),
                fulgurite_error::ErrorKind::Backend,
                "{text}: {error}"
            );
        }
    }
}
