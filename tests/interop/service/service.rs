// SPDX-License-Identifier: MIT
// A Rust service with the publisher, through its C functions: a thread per
// connection. Arguments: the port.
use std::ffi::CString;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::raw::{c_char, c_int};

extern "C" {
    fn otc_init(name: *const c_char) -> c_int;
    fn otc_set_traceparent(value: *const c_char) -> c_int;
    fn otc_clear();
}

fn burn() {
    let mut sum: u64 = 0;
    for i in 0..3_000_000u64 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(i));
    }
    black_box(sum);
}

// Each burns in a frame of its own: what follows the call keeps it from being
// a jump.
#[no_mangle]
#[inline(never)]
pub extern "C" fn work_alpha() -> u64 {
    burn();
    black_box(1)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn work_beta() -> u64 {
    burn();
    black_box(2)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn work_gamma() -> u64 {
    burn();
    black_box(3)
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    let mut parent = String::new();
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("traceparent: ") {
            parent = value.to_string();
        }
    }
    let value = CString::new(parent).unwrap();
    let rc = unsafe { otc_set_traceparent(value.as_ptr()) };
    if request.starts_with("GET /alpha ") {
        work_alpha();
    } else if request.starts_with("GET /beta ") {
        work_beta();
    } else {
        work_gamma();
    }
    unsafe { otc_clear() };
    let status = if rc == 0 { "200 OK" } else { "400 No" };
    write!(stream, "HTTP/1.1 {}\r\nContent-Length: 0\r\n\r\n", status)
}

fn main() {
    let port: u16 = std::env::args().nth(1).unwrap().parse().unwrap();
    let name = CString::new("rust-service").unwrap();
    let rc = unsafe { otc_init(name.as_ptr()) };
    assert_eq!(rc, 0);
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || serve(stream).unwrap());
    }
}
