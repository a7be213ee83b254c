//! Drives KausalDB's storage and query engines from outside, on real files, with the sizes of our own rows: see
//! bench/python/published/kausaldb.py, which builds it against a clone and runs it in an empty folder. It prints one
//! object of JSON: a name and the seconds of calls, already in order.
//!
//!     driver FOLDER PUTS BLOCKS NODES CALLS

const std = @import("std");
const kausaldb = @import("kausaldb");

const BlockId = kausaldb.BlockId;
const EdgeType = kausaldb.EdgeType;
const Engine = kausaldb.StorageEngine;
const Query = kausaldb.TraversalQuery;
const QueryEngine = kausaldb.QueryEngine;

/// What it logs of itself is not measured.
pub const std_options: std.Options = .{ .log_level = .err };

const CONTENT_BYTES = 500;
/// Calls that take less than looking at the clock are timed so many at once.
const AT_ONCE = 64;
const RUNS = 15;
/// Reads of blocks in files: each takes longer the more blocks there are.
const COLD = 100;

const allocator = std.heap.smp_allocator;
var timer: std.time.Timer = undefined;

/// Nanoseconds of calls, each a float where several were timed at once.
const Samples = std.ArrayList(f64);

const Figure = struct { p50: f64, p95: f64, p99: f64, calls: u64, found: f64 };

pub fn main() !void {
    const arguments = try std.process.argsAlloc(allocator);
    if (arguments.len != 6) return error.FiveArgumentsAreNeeded;
    const folder = arguments[1];
    var amounts: [4]u64 = undefined;
    for (&amounts, arguments[2..]) |*amount, text| amount.* = try std.fmt.parseInt(u64, text, 10);
    timer = try std.time.Timer.start();
    var files = kausaldb.production_vfs.ProductionVFS.init(allocator);
    defer files.deinit();
    var figures: std.StringArrayHashMapUnmanaged(Figure) = .empty;
    try puts(&figures, &files, try std.fs.path.join(allocator, &.{ folder, "puts" }), amounts[0]);
    try hops(&figures, &files, try std.fs.path.join(allocator, &.{ folder, "hops" }), amounts[2], amounts[3]);
    try tree(&figures, &files, try std.fs.path.join(allocator, &.{ folder, "bfs" }), "bfs", 10, 3);
    try tree(&figures, &files, try std.fs.path.join(allocator, &.{ folder, "dfs" }), "dfs", 5, 5);
    try gets(&figures, &files, try std.fs.path.join(allocator, &.{ folder, "gets" }), amounts[1]);
    var out: std.Io.Writer.Allocating = .init(allocator);
    var json: std.json.Stringify = .{ .writer = &out.writer };
    try json.beginObject();
    var each = figures.iterator();
    while (each.next()) |entry| {
        try json.objectField(entry.key_ptr.*);
        try json.write(entry.value_ptr.*);
    }
    try json.endObject();
    try out.writer.writeByte('\n');
    try std.fs.File.stdout().writeAll(out.written());
}

const Figures = *std.StringArrayHashMapUnmanaged(Figure);

fn add(figures: Figures, name: []const u8, samples: *Samples, found: f64) !void {
    std.mem.sort(f64, samples.items, {}, std.sort.asc(f64));
    const of = samples.items;
    try figures.put(allocator, name, .{
        .p50 = share(of, 50),
        .p95 = share(of, 95),
        .p99 = share(of, 99),
        .calls = of.len,
        .found = found,
    });
    samples.clearRetainingCapacity();
}

fn share(sorted: []const f64, percent: usize) f64 {
    return sorted[@min(sorted.len - 1, sorted.len * percent / 100)] / 1e9;
}

fn since(begin: u64) f64 {
    return @floatFromInt(timer.read() - begin);
}

fn id(number: u64) BlockId {
    // Ids spread evenly, as ours do.
    var random = std.Random.DefaultPrng.init(number);
    var bytes: [16]u8 = undefined;
    random.fill(&bytes);
    return BlockId.from_bytes(bytes);
}

fn put(engine: *Engine, number: u64) !void {
    var random = std.Random.DefaultPrng.init(number);
    var content: [CONTENT_BYTES]u8 = undefined;
    // Bytes that don't compress, all of them characters.
    for (&content) |*byte| byte.* = random.random().intRangeAtMost(u8, ' ', '~');
    try engine.put_block(.{
        .id = id(number),
        .sequence = 0,
        .source_uri = "bench://block",
        .metadata_json = "{}",
        .content = &content,
    });
}

fn get(engine: *Engine, number: u64) !void {
    const found = try engine.find_block(id(number), .temporary) orelse return error.BlockIsMissing;
    if (found.read(.temporary).content.len != CONTENT_BYTES) return error.BlockIsAnother;
}

fn puts(figures: Figures, files: anytype, folder: []const u8, count: u64) !void {
    var engine = try Engine.init(allocator, files.vfs(), folder, .{});
    defer engine.deinit();
    try engine.startup();
    var samples: Samples = .empty;
    for (0..count) |number| {
        const begin = timer.read();
        try put(&engine, number);
        try samples.append(allocator, since(begin));
    }
    try add(figures, "put synced", &samples, @floatFromInt(count));
    for (0..20 * @min(count, 1_000) / AT_ONCE) |part| {
        var ids: [AT_ONCE]BlockId = undefined;
        for (&ids, 0..) |*one, at| one.* = id((part * AT_ONCE + at) % @min(count, 1_000));
        const begin = timer.read();
        for (ids) |one| {
            const found = try engine.find_block(one, .temporary) orelse return error.BlockIsMissing;
            std.mem.doNotOptimizeAway(found.read(.temporary).content.len);
        }
        try samples.append(allocator, since(begin) / AT_ONCE);
    }
    try add(figures, "get hot", &samples, 1);
}

/// Blocks in files, read for the first time since the store was opened; and blocks that are not there.
fn gets(figures: Figures, files: anytype, folder: []const u8, count: u64) !void {
    {
        var engine = try Engine.init(allocator, files.vfs(), folder, .{});
        defer engine.deinit();
        try engine.startup();
        for (0..count) |number| try put(&engine, number);
        try engine.flush_memtable_to_sstable();
        try engine.shutdown();
    }
    var engine = try Engine.init(allocator, files.vfs(), folder, .{});
    defer engine.deinit();
    try engine.startup();
    var samples: Samples = .empty;
    const reads = @min(COLD, count);
    for (0..reads) |at| {
        const begin = timer.read();
        try get(&engine, at * (count / reads));
        try samples.append(allocator, since(begin));
    }
    try add(figures, "get cold", &samples, 1);
    for (0..@min(count, 1_000)) |at| {
        const other = id(1 << 40 | at);
        const begin = timer.read();
        if (try engine.find_block(other, .temporary) != null) return error.BlockIsThere;
        try samples.append(allocator, since(begin));
    }
    try add(figures, "miss", &samples, 0);
}

/// Three edges of two kinds from each node on average, drawn evenly.
fn hops(figures: Figures, files: anytype, folder: []const u8, nodes: u64, calls: u64) !void {
    var engine = try Engine.init(allocator, files.vfs(), folder, .{});
    defer engine.deinit();
    try engine.startup();
    for (0..nodes) |number| try put(&engine, number);
    var random = std.Random.DefaultPrng.init(83);
    for (0..3 * nodes) |at| {
        const from = random.random().uintLessThan(u64, nodes);
        // An edge of a block to itself is refused there.
        const to = (from + 1 + random.random().uintLessThan(u64, nodes - 1)) % nodes;
        const kind: EdgeType = if (at % 2 == 0) .calls else .imports;
        try engine.put_edge(.{ .source_id = id(from), .target_id = id(to), .edge_type = kind });
    }
    var samples: Samples = .empty;
    inline for (.{ "hop 1", "hop reverse", "hop filtered" }) |name| {
        var found: u64 = 0;
        for (0..calls / AT_ONCE) |_| {
            var starts: [AT_ONCE]BlockId = undefined;
            for (&starts) |*one| one.* = id(random.random().uintLessThan(u64, nodes));
            const begin = timer.read();
            for (starts) |start| {
                const edges = if (comptime std.mem.eql(u8, name, "hop reverse"))
                    // The engine's own call does not see edges that are in memory; its index does.
                    engine.graph_index.find_incoming_edges_with_ownership(start, .temporary) orelse &.{}
                else
                    engine.find_outgoing_edges(start);
                for (edges) |edge| {
                    if (comptime std.mem.eql(u8, name, "hop filtered")) {
                        if (edge.edge.edge_type != .calls) continue;
                    }
                    std.mem.doNotOptimizeAway(edge.edge.target_id);
                    found += 1;
                }
            }
            try samples.append(allocator, since(begin) / AT_ONCE);
        }
        const asked: f64 = @floatFromInt(calls / AT_ONCE * AT_ONCE);
        try add(figures, name, &samples, @as(f64, @floatFromInt(found)) / asked);
    }
    var queries = QueryEngine.init(allocator, &engine);
    defer queries.deinit();
    queries.startup();
    queries.enable_caching(false);
    var found: u64 = 0;
    const walks = calls / AT_ONCE;
    for (0..walks) |_| {
        var query = Query.init(id(random.random().uintLessThan(u64, nodes)), .outgoing);
        query.max_depth = 3;
        query.max_results = Query.ABSOLUTE_MAX_RESULTS;
        const begin = timer.read();
        found += (try queries.execute_traversal(query)).blocks.len;
        try samples.append(allocator, since(begin));
    }
    try add(figures, "hop 3", &samples, @as(f64, @floatFromInt(found)) / @as(f64, @floatFromInt(walks)));
}

/// A tree: each node has as many below it, down to a depth.
fn tree(figures: Figures, files: anytype, folder: []const u8, name: []const u8, below: u64, depth: u32) !void {
    var engine = try Engine.init(allocator, files.vfs(), folder, .{});
    defer engine.deinit();
    try engine.startup();
    var nodes: u64 = 0;
    for (0..depth + 1) |level| nodes += std.math.pow(u64, below, level);
    for (0..nodes) |number| try put(&engine, number);
    for (1..nodes) |number| {
        const edge: kausaldb.GraphEdge = .{ .source_id = id((number - 1) / below), .target_id = id(number), .edge_type = .calls };
        try engine.put_edge(edge);
    }
    var queries = QueryEngine.init(allocator, &engine);
    defer queries.deinit();
    queries.startup();
    queries.enable_caching(false);
    var query = Query.init(id(0), .outgoing);
    query.algorithm = if (std.mem.eql(u8, name, "bfs")) .breadth_first else .depth_first;
    query.max_depth = depth;
    query.max_results = Query.ABSOLUTE_MAX_RESULTS;
    var samples: Samples = .empty;
    var found: u64 = 0;
    for (0..RUNS) |_| {
        const begin = timer.read();
        found = (try queries.execute_traversal(query)).blocks.len;
        try samples.append(allocator, since(begin));
    }
    try add(figures, name, &samples, @floatFromInt(found));
}
