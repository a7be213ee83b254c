//! Drives dls's memtable from outside, with the entries of our own rows: see bench/python/published/dls.py, which builds
//! it against a clone of dls and runs it in an empty folder, where dls puts its files. It prints one object of JSON.
//!
//!     driver ENTRIES FLUSH_EACH long|short

const std = @import("std");
const dls = @import("dls");

const MemTable = dls.MemTable;
/// dls keeps the type of entries to itself; the call that takes one tells it.
const LogEntry = @typeInfo(@TypeOf(MemTable.writeLog)).@"fn".params[1].type.?;

/// Bytes of a long entry's message: what ours has in message and fields together.
const MESSAGE_BYTES = 1_024;
const READS = 9;
const NEWEST = 1_000;
const NEWEST_READS = 20;
const WAL = "driver.wal";

const Printed = struct {
    entries: u64,
    write_seconds: f64,
    write_p50: f64,
    write_p95: f64,
    write_p99: f64,
    read_seconds: f64,
    read_entries: u64,
    newest_p50: f64,
    newest_p95: f64,
    newest_p99: f64,
    newest_entries: u64,
    flushes: u64,
    flush_seconds: f64,
    encode_seconds: f64,
    log_seconds: f64,
    log_bytes: u64,
    rise_bytes: u64,
    answers_equal: bool,
};

pub fn main() !void {
    const allocator = std.heap.smp_allocator;
    const arguments = try std.process.argsAlloc(allocator);
    if (arguments.len != 4) return error.ThreeArgumentsAreNeeded;
    const count = try std.fmt.parseInt(u64, arguments[1], 10);
    const flush_each = try std.fmt.parseInt(u32, arguments[2], 10);
    const is_long = std.mem.eql(u8, arguments[3], "long");

    var table = try MemTable.init(allocator, WAL, .{ .flush_threshold = flush_each });
    defer table.deinit();
    const times = try allocator.alloc(u64, count);
    var text: [2 * MESSAGE_BYTES]u8 = undefined;
    var newest_from: u64 = 0;
    var hash_written: u64 = 0;
    const before = try anonymousBytes();
    var most = before;
    var timer = try std.time.Timer.start();
    for (0..count) |at| {
        // Text is made before the clock is looked at, and copied to where dls lets go of it with its next flush.
        const made = message(&text, at, is_long);
        hash_written +%= std.hash.Wyhash.hash(at, made);
        const begin = timer.read();
        const own = try table.entry_allocator.dupe(u8, made);
        const entry = try LogEntry.init(table.entry_allocator, 1_700_000_000_000 + at, own, "{\"level\":\"INFO\"}");
        try table.writeLog(entry);
        times[at] = timer.read() - begin;
        if (at + NEWEST == count) newest_from = entry.timestamp;
        if (at % flush_each == flush_each - 2) most = @max(most, try anonymousBytes());
    }
    most = @max(most, try anonymousBytes());
    var write_sum: u64 = 0;
    for (times) |each| write_sum += each;
    std.mem.sort(u64, times, {}, std.sort.asc(u64));

    var reads: [READS]u64 = undefined;
    var read_entries: u64 = 0;
    var hash_read: u64 = 0;
    for (&reads) |*taken| {
        var arena = std.heap.ArenaAllocator.init(allocator);
        defer arena.deinit();
        const begin = timer.read();
        const found = try table.readLog(arena.allocator(), 0, std.math.maxInt(u64));
        taken.* = timer.read() - begin;
        read_entries = found.len;
        hash_read = 0;
        // Entries of one millisecond come in any order: each is known by the number in its own time.
        for (found) |entry| hash_read +%= std.hash.Wyhash.hash(entry.source_ts - 1_700_000_000_000, entry.message);
    }
    std.mem.sort(u64, &reads, {}, std.sort.asc(u64));

    var newest: [NEWEST_READS]u64 = undefined;
    var newest_entries: u64 = 0;
    for (&newest) |*taken| {
        var arena = std.heap.ArenaAllocator.init(allocator);
        defer arena.deinit();
        const begin = timer.read();
        newest_entries = (try table.readLog(arena.allocator(), newest_from, std.math.maxInt(u64))).len;
        taken.* = timer.read() - begin;
    }
    std.mem.sort(u64, &newest, {}, std.sort.asc(u64));

    const printed = Printed{
        .entries = count,
        .write_seconds = seconds(write_sum),
        .write_p50 = seconds(share(times, 50)),
        .write_p95 = seconds(share(times, 95)),
        .write_p99 = seconds(share(times, 99)),
        .read_seconds = seconds(share(&reads, 50)),
        .read_entries = read_entries,
        .newest_p50 = seconds(share(&newest, 50)),
        .newest_p95 = seconds(share(&newest, 95)),
        .newest_p99 = seconds(share(&newest, 99)),
        .newest_entries = newest_entries,
        .flushes = table.cnt_flush,
        .flush_seconds = seconds(@intCast(table.tu_flush)),
        .encode_seconds = seconds(@intCast(table.wal.tu_encodeCbor)),
        .log_seconds = seconds(@intCast(table.wal.tu_writeAll)),
        .log_bytes = try table.wal.f.getEndPos(),
        .rise_bytes = most - before,
        .answers_equal = hash_read == hash_written,
    };
    const line = try std.json.Stringify.valueAlloc(allocator, printed, .{});
    try std.fs.File.stdout().writeAll(line);
    try std.fs.File.stdout().writeAll("\n");
}

/// Words and numbers, as ours: no two entries are the same, and hardly any part of one is that of another.
fn message(into: []u8, at: u64, is_long: bool) []const u8 {
    if (!is_long) return std.fmt.bufPrint(into, "entry {d}", .{at}) catch unreachable;
    var random = std.Random.DefaultPrng.init(at);
    var made = (std.fmt.bufPrint(into, "request {d} failed:", .{at}) catch unreachable).len;
    while (made < MESSAGE_BYTES) {
        made += (std.fmt.bufPrint(into[made..], " upstream {x:0>16}", .{random.next()}) catch unreachable).len;
    }
    return into[0..MESSAGE_BYTES];
}

fn share(sorted: []const u64, percent: usize) u64 {
    return sorted[@min(sorted.len - 1, sorted.len * percent / 100)];
}

fn seconds(nanos: u64) f64 {
    return @as(f64, @floatFromInt(nanos)) / 1e9;
}

/// Memory that no file backs.
fn anonymousBytes() !u64 {
    const file = try std.fs.openFileAbsolute("/proc/self/status", .{});
    defer file.close();
    var text: [8_192]u8 = undefined;
    const read = try file.readAll(&text);
    const name = "RssAnon:";
    const from = std.mem.indexOf(u8, text[0..read], name) orelse return error.NoRssAnon;
    var words = std.mem.tokenizeAny(u8, text[from + name.len .. read], " \t\n");
    return 1_024 * try std.fmt.parseInt(u64, words.next().?, 10);
}
