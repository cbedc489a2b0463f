//! Writes small databases in the MaxMind format (MaxMind DB File Format Specification 2.0), for tests alone.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// A value of a record.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Double(f64),
    Short(u16),
    Whole(u32),
    Long(u64),
    Map(Vec<(&'static str, Value)>),
    List(Vec<Value>),
}

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Type number and size, then the bytes. Sizes from 29 take one more byte, from 285 two.
fn control(kind: u8, size: usize, out: &mut Vec<u8>) {
    let (low, extra) = match size {
        0..29 => (size as u8, vec![]),
        29..285 => (29, vec![(size - 29) as u8]),
        _ => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
    };
    if kind > 7 {
        out.extend([low, kind - 7]);
    } else {
        out.push(kind << 5 | low);
    }
    out.extend(extra);
}

pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => {
            control(2, text.len(), out);
            out.extend(text.as_bytes());
        }
        Value::Double(number) => {
            control(3, 8, out);
            out.extend(number.to_be_bytes());
        }
        Value::Bytes(bytes) => {
            control(4, bytes.len(), out);
            out.extend(bytes);
        }
        Value::Short(number) => {
            control(5, 2, out);
            out.extend(number.to_be_bytes());
        }
        Value::Long(number) => {
            control(9, 8, out);
            out.extend(number.to_be_bytes());
        }
        Value::Whole(number) => {
            control(6, 4, out);
            out.extend(number.to_be_bytes());
        }
        Value::Map(fields) => {
            control(7, fields.len(), out);
            for (key, value) in fields {
                encode(&text(key), out);
                encode(value, out);
            }
        }
        Value::List(items) => {
            control(11, items.len(), out);
            items.iter().for_each(|item| encode(item, out));
        }
    }
}

/// A database of `ip_version` 4 or 6 with a record for each network; IPv4 networks lie under ::/96 of a tree of IPv6.
pub fn database(ip_version: u16, networks: &[(&str, Value)]) -> Vec<u8> {
    // Children of each node: nothing, another node, or a record.
    let mut nodes: Vec<[Child; 2]> = vec![[Child::Nothing; 2]];
    let mut data = Vec::new();
    for (network, value) in networks {
        let (address, length) = network.split_once('/').unwrap();
        let length: usize = length.parse().unwrap();
        let bits: Vec<u8> = match address.parse().unwrap() {
            IpAddr::V4(v4) if ip_version == 6 => [vec![0; 96], bits(&v4.octets())[..length].to_vec()].concat(),
            IpAddr::V4(v4) => bits(&v4.octets())[..length].to_vec(),
            IpAddr::V6(v6) => bits(&v6.octets())[..length].to_vec(),
        };
        let record = data.len();
        encode(value, &mut data);
        let (last, way) = bits.split_last().unwrap();
        let mut at = 0;
        for bit in way {
            at = match nodes[at][usize::from(*bit)] {
                Child::Node(next) => next,
                _ => {
                    nodes.push([Child::Nothing; 2]);
                    let next = nodes.len() - 1;
                    nodes[at][usize::from(*bit)] = Child::Node(next);
                    next
                }
            };
        }
        nodes[at][usize::from(*last)] = Child::Record(record);
    }
    let count = nodes.len();
    let mut out = Vec::new();
    for child in nodes.iter().flatten() {
        let number = match child {
            Child::Nothing => count,
            Child::Node(node) => *node,
            Child::Record(offset) => count + 16 + offset,
        };
        out.extend(&(number as u32).to_be_bytes()[1..]);
    }
    out.extend([0; 16]);
    out.extend(data);
    out.extend(b"\xab\xcd\xefMaxMind.com");
    let map: BTreeMap<&'static str, Value> = [
        ("binary_format_major_version", Value::Short(2)),
        ("binary_format_minor_version", Value::Short(0)),
        ("build_epoch", Value::Long(1_795_000_000)),
        ("database_type", text("Test")),
        ("description", Value::Map(vec![("en", text("for tests"))])),
        ("ip_version", Value::Short(ip_version)),
        ("languages", Value::List(vec![text("en")])),
        ("node_count", Value::Whole(count as u32)),
        ("record_size", Value::Short(24)),
    ]
    .into();
    encode(&Value::Map(map.into_iter().collect()), &mut out);
    out
}

#[derive(Clone, Copy)]
enum Child {
    Nothing,
    Node(usize),
    Record(usize),
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect()
}
