//! Records sent to a topic and read from it over HTTP, beside the same in the process itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, Watch, scratch};
use timestrata_engine::{Settings, Store};
use timestrata_topic::{Consumer, ConsumerOptions};
use timestrata_topic::{
    PollLimits, Record, Records, SendOptions, Topic, TopicOptions, TopicPartition,
};

use crate::http::{Connection, at_once};

const CONNECTIONS: usize = 8;
const RECORD_BYTES: usize = 1_024;
/// Records of a request, or of a commit.
const BATCHES: [usize; 2] = [1, 100];
const READ_RECORDS: usize = 1_000;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    for batch in BATCHES {
        let batches = bench.many(if batch == 1 { 20_000 } else { 4_000 }) as usize;
        produce(bench, batch, batches.max(CONNECTIONS))?;
    }
    let records = bench.many(400_000) as usize;
    consume(bench, records.max(CONNECTIONS * READ_RECORDS))
}

/// How records are asked for.
#[derive(Clone, Copy)]
enum Form {
    Lines,
    Columns,
}

impl Form {
    fn kind(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Columns => "application/vnd.apache.arrow.stream",
        }
    }

    /// How many records an answer has, and the sum of all bytes of it that are theirs.
    fn look(self, answer: &mut Vec<u8>) -> Result<(usize, u64)> {
        match self {
            Self::Lines => Ok((answer.iter().filter(|byte| **byte == b'\n').count(), sum(answer))),
            Self::Columns => {
                let (mut records, mut bytes) = (0, 0);
                let whole = Buffer::from_vec(std::mem::take(answer));
                let (mut decoder, mut rest) = (StreamDecoder::new(), whole.clone());
                while let Some(batch) = decoder.decode(&mut rest)? {
                    for (_, record) in Records::of(&batch)?.iter() {
                        records += 1;
                        bytes += sum(record.value.unwrap_or_default());
                    }
                }
                drop((decoder, rest));
                // Nobody has it any more, so it is there for the next answer.
                *answer = whole.into_vec().unwrap_or_default();
                Ok((records, bytes))
            }
        }
    }
}

/// Sends batches over all connections, in turns with the same in this process; the records have one partition a connection.
fn produce(bench: &mut Bench, batch: usize, batches: usize) -> Result<()> {
    let rounds = bench.rounds(5);
    let (mut here, mut there) = (Samples::new(), Samples::new());
    let watch = Watch::new();
    let text = values(batch);
    let body = body(&text);
    let records: Vec<Record<'_>> = text
        .iter()
        .map(|text| Record { value: Some(text.as_bytes()), ..Record::default() })
        .collect();
    let each = batches / CONNECTIONS;
    for _ in 0..rounds {
        let dir = scratch(&bench.dir)?;
        let store = Store::open(dir.path(), Settings::default())?;
        let topic = topic(&store)?;
        let (seconds, _) = watch.time(|| {
            numbered(|partition| {
                let partition = Some(u32::try_from(partition)?);
                let options = SendOptions { partition, ..SendOptions::default() };
                (0..each).try_for_each(|_| topic.send_batch(&records, &options).map(drop))?;
                Ok(())
            })
        })?;
        here.add((each * CONNECTIONS * batch) as f64 / seconds);
        drop(topic);
        store.close()?;

        let dir = scratch(&bench.dir)?;
        let store = Store::open(dir.path(), Settings::default())?;
        topic_made_in(store)?;
        let server = Server::start(dir.path())?;
        let (seconds, _) = watch.time(|| {
            numbered(|partition| {
                let mut connection = Connection::open(&server.address)?;
                let head = server.head(
                    &format!("POST /topics/t/records?partition={partition}"),
                    &format!(
                        "Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n",
                        body.len()
                    ),
                );
                for _ in 0..each {
                    connection.ask(&[head.as_bytes(), body.as_bytes()])?;
                }
                Ok(())
            })
        })?;
        there.add((each * CONNECTIONS * batch) as f64 / seconds);
        server.stop()?;
        let store = Store::open(dir.path(), Settings::default())?;
        check(&store, each * batch)?;
    }
    bench.report(
        Measure::new(format!("produce over HTTP, {batch} a request"), "records/s", there.median())
            .against("the same in the process", here.median(), Better::Higher)
            .aim(0.5)
            .note(format!(
                "records of {RECORD_BYTES} bytes as JSON lines, {CONNECTIONS} connections with a partition each, beside {CONNECTIONS} threads; \
                 each commit synced, in groups; who sends more than the disk takes waits; median of {rounds} rounds of {} records; clients on the same processors",
                each * CONNECTIONS * batch
            )),
    );
    Ok(())
}

/// Reads all records of all partitions, in turns with the same in this process.
fn consume(bench: &mut Bench, records: usize) -> Result<()> {
    let rounds = bench.rounds(5);
    let each = records / CONNECTIONS;
    let dir = scratch(&bench.dir)?;
    let store = Store::open(dir.path(), Settings::default())?;
    let topic = topic(&store)?;
    let text = values(READ_RECORDS);
    for partition in 0..CONNECTIONS {
        for start in (0..each).step_by(READ_RECORDS) {
            let some = text.iter().take(READ_RECORDS.min(each - start));
            let some: Vec<_> = some
                .map(|text| Record { value: Some(text.as_bytes()), ..Record::default() })
                .collect();
            let partition = Some(u32::try_from(partition)?);
            topic.send_batch(&some, &SendOptions { partition, ..SendOptions::default() })?;
        }
    }
    drop(topic);
    store.close()?;
    let (mut here, mut lines, mut columns) = (Samples::new(), Samples::new(), Samples::new());
    let mut sockets = Samples::new();
    let watch = Watch::new();
    for _ in 0..rounds {
        let (seconds, _) = watch.time(|| through_sockets(each))?;
        sockets.add((each * CONNECTIONS) as f64 / seconds);
        let store = Store::open(dir.path(), Settings::default())?;
        let (seconds, _) =
            watch.time(|| numbered(|partition| read_here(&store, partition, each)))?;
        here.add((each * CONNECTIONS) as f64 / seconds);
        store.close()?;
        let server = Server::start(dir.path())?;
        for (form, rates) in [(Form::Lines, &mut lines), (Form::Columns, &mut columns)] {
            let read = |partition| server.read(partition, each, form);
            let (seconds, _) = watch.time(|| numbered(read))?;
            rates.add((each * CONNECTIONS) as f64 / seconds);
        }
        server.stop()?;
    }
    for (form, rates) in [("JSON lines", lines), ("Arrow", columns)] {
        let measure =
            || Measure::new(format!("consume over HTTP, {form}"), "records/s", rates.median());
        bench.report(
            measure().against("the same in the process", here.median(), Better::Higher).aim(0.5).note(format!(
                "{records} records of {RECORD_BYTES} bytes, {READ_RECORDS} a request, {CONNECTIONS} connections with a partition each, \
                 beside {CONNECTIONS} consumers; median of {rounds} rounds; every byte of each is looked at; clients on the same processors"
            )),
        );
        bench.report(
            measure().against("floor, their bytes through sockets", sockets.median(), Better::Higher).note(
                "as many bytes in as many answers, which threads write as they lie in memory, and no protocol",
            ),
        );
    }
    Ok(())
}

/// What any protocol takes at least: the bytes of the records' values, asked for and answered as the records are.
fn through_sockets(records: usize) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let answers = records.div_ceil(READ_RECORDS);
    let answer = || vec![b'x'; READ_RECORDS * RECORD_BYTES];
    let serve = |mut stream: TcpStream| -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let answer = answer();
        for _ in 0..answers {
            stream.read_exact(&mut [0])?;
            stream.write_all(&answer)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().take(CONNECTIONS).flatten() {
                // Who asks tells of one that fails.
                scope.spawn(|| serve(stream));
            }
        });
        numbered(|_| {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            let (mut answer, mut bytes) = (answer(), 0);
            for _ in 0..answers {
                stream.write_all(&[0])?;
                stream.read_exact(&mut answer)?;
                bytes += sum(&answer);
            }
            match bytes > 0 {
                true => Ok(()),
                false => Err("nothing came".into()),
            }
        })
    })
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

fn read_here(store: &Store, partition: usize, records: usize) -> Result<()> {
    let mut consumer = Consumer::new(store, ConsumerOptions::default())?;
    consumer
        .assign([TopicPartition { topic: "t".into(), partition: u32::try_from(partition)? }])?;
    let limits = PollLimits { records: READ_RECORDS, ..PollLimits::default() };
    let (mut seen, mut bytes) = (0, 0_u64);
    while seen < records {
        for polled in consumer.poll(std::time::Duration::ZERO, limits)? {
            for (_, record) in polled.records.iter() {
                seen += 1;
                bytes += sum(record.value.unwrap_or_default());
            }
        }
    }
    match bytes > 0 && seen == records {
        true => Ok(()),
        false => Err(format!("{seen} of {records} records came").into()),
    }
}

/// `work` in a thread for each connection, which is told its number.
fn numbered(work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    at_once(CONNECTIONS, || {
        work(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).map(|()| Vec::new())
    })
    .map(drop)
}

fn topic(store: &Store) -> Result<Topic> {
    let options =
        TopicOptions { partitions: u32::try_from(CONNECTIONS)?, ..TopicOptions::default() };
    Ok(Topic::create(store, "t", &options)?)
}

fn topic_made_in(store: Store) -> Result<()> {
    topic(&store)?;
    Ok(store.close()?)
}

fn check(store: &Store, each: usize) -> Result<()> {
    let topic = Topic::open(store, "t")?;
    for partition in 0..u32::try_from(CONNECTIONS)? {
        let offsets = topic.offsets(partition)?;
        if offsets != (0..each as u64) {
            return Err(format!("partition {partition} has the offsets {offsets:?}").into());
        }
    }
    Ok(())
}

/// Different values of letters and digits.
fn values(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(23);
    let mut value = || -> String {
        numbers.bytes(RECORD_BYTES / 2).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    (0..count).map(|_| value()).collect()
}

fn body(values: &[String]) -> String {
    values.iter().map(|value| format!("{{\"value\":\"{value}\"}}\n")).collect()
}

/// A server of a store, as a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(dir: &Path) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("timestrata");
        let mut child = Command::new(&program)
            .arg("serve")
            .arg(dir)
            .args(["--listen", "127.0.0.1:0", "--set", "log.level=error"])
            // As the store in the process does: who sends more than the disk takes waits, and is not sent away.
            .args(["--set", "store.busy_policy=block"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut line = String::new();
        BufReader::new(child.stderr.take().ok_or("no stderr")?).read_line(&mut line)?;
        let address = line.trim_end().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }

    fn head(&self, request: &str, headers: &str) -> String {
        format!("{request} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address)
    }

    fn read(&self, partition: usize, records: usize, form: Form) -> Result<()> {
        let mut connection = Connection::open(&self.address)?;
        let (mut seen, mut bytes) = (0, 0_u64);
        while seen < records {
            let request = format!(
                "GET /topics/t/records?partition={partition}&from={seen}&limit={READ_RECORDS}"
            );
            let wanted = format!("Accept: {}\r\n", form.kind());
            connection.ask(&[self.head(&request, &wanted).as_bytes()])?;
            let (count, sum) = form.look(connection.body())?;
            if count == 0 {
                return Err(format!("nothing behind {seen} of {records} records").into());
            }
            seen += count;
            bytes += sum;
        }
        match bytes > 0 && seen == records {
            true => Ok(()),
            false => Err(format!("{seen} of {records} records came").into()),
        }
    }

    /// Asks it to end, as a user would.
    fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id())?;
        let pid = rustix::process::Pid::from_raw(pid).ok_or("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        match self.child.wait()?.success() {
            true => Ok(()),
            false => Err("the server did not end well".into()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where a measure has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
