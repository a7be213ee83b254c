//! Names that a language or its types bring along. They are never taken for the one function of the
//! tree that happens to be called so.

use crate::language::Family;

const PYTHON: &str = "ArithmeticError AssertionError AttributeError BaseException BlockingIOError \
    BrokenPipeError BufferError BytesWarning ConnectionError DeprecationWarning EOFError Exception \
    FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError \
    ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError \
    KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError \
    NotADirectoryError NotImplementedError OSError OverflowError PermissionError \
    ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning \
    StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError \
    TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError \
    UserWarning ValueError Warning ZeroDivisionError __import__ abs aiter all anext any ascii bin \
    bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir \
    divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash \
    help hex id input int isinstance issubclass iter len list locals map max memoryview min next \
    object oct open ord pow print property quit range repr reversed round set setattr slice sorted \
    staticmethod str sum super tuple type vars zip";

const PYTHON_METHODS: &str = "add append appendleft as_integer_ratio bit_length capitalize casefold \
    center clear close conjugate copy count decode difference difference_update discard encode \
    endswith expandtabs extend extendleft fileno find flush format format_map from_bytes fromhex \
    fromkeys get hex index insert intersection intersection_update is_integer isalnum isalpha \
    isascii isatty isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace \
    issubset issuperset istitle isupper items join keys ljust lower lstrip maketrans partition pop \
    popitem popleft read readable readinto readline readlines remove removeprefix removesuffix \
    replace reverse rfind rindex rjust rotate rpartition rsplit rstrip seek seekable send \
    setdefault sort split splitlines startswith strip swapcase symmetric_difference \
    symmetric_difference_update tell throw title to_bytes tobytes tolist translate truncate union \
    update upper values with_traceback writable write writelines zfill __init__";

const RUST: &str = "Box Err None Ok Option Result Some String Vec drop assert! assert_eq! assert_ne! \
    cfg! column! compile_error! concat! dbg! debug_assert! debug_assert_eq! debug_assert_ne! env! \
    eprint! eprintln! file! format! format_args! include! include_bytes! include_str! line! \
    macro_rules! matches! module_path! option_env! panic! print! println! stringify! \
    thread_local! unreachable! vec! write! writeln!";

const RUST_METHODS: &str = "abs all and and_then any append as_bytes as_deref as_mut as_ref as_slice \
    as_str binary_search borrow borrow_mut by_ref bytes ceil chain char_indices chars checked_add \
    checked_sub chunks clear clone cloned cmp collect concat contains contains_key copied \
    copy_from_slice count cycle dedup default deref deref_mut display drain drop ends_with entry \
    enumerate eq err expect extend extend_from_slice fetch_add fill filter filter_map find \
    find_map first flat_map flatten flush fmt fold for_each from from_str get get_mut \
    get_or_insert_with hash index insert into into_boxed_slice into_inner into_iter is_empty \
    is_err is_none is_ok is_some iter iter_mut join keys last len lines load lock lower map \
    map_err max max_by_key min ne new next next_back nth ok ok_or ok_or_else open or or_default \
    or_else or_insert or_insert_with parse partial_cmp partition peek peekable pop position \
    product push push_back push_front push_str read read_to_end read_to_string recv remove repeat \
    replace reserve resize retain rev reverse round rposition saturating_sub seek send skip \
    skip_while sort sort_by sort_by_key sort_unstable splice split split_at split_off \
    split_whitespace starts_with step_by store strip_prefix strip_suffix sub sum swap take \
    take_while then then_some to_ascii_lowercase to_ascii_uppercase to_lowercase to_owned \
    to_string to_uppercase to_vec trim trim_end trim_start truncate try_from try_into unwrap \
    unwrap_or unwrap_or_default unwrap_or_else values windows with_capacity wrapping_add \
    write write_all write_fmt write_str zip";

const C: &str = "abort assert atoi atol calloc close defined exit fclose fflush fgets fopen fprintf \
    fputs fread free fseek ftell fwrite getenv isalnum isalpha isdigit isspace malloc memchr memcmp \
    memcpy memmove memset offsetof open perror printf putchar puts qsort read realloc scanf setjmp \
    snprintf sprintf sscanf strcasecmp strcat strchr strcmp strcpy strdup strerror strlen \
    strncasecmp strncmp strncpy strrchr strstr strtol strtoul tolower toupper va_arg va_end \
    va_start vfprintf vsnprintf write";

const SCRIPT: &str = "Array ArrayBuffer BigInt Boolean Buffer DataView Date Error EvalError \
    FinalizationRegistry Float32Array Float64Array Function Int16Array Int32Array Int8Array Map \
    Number Object Promise Proxy RangeError ReferenceError RegExp Set String Symbol SyntaxError \
    TypeError URIError URL Uint16Array Uint32Array Uint8Array WeakMap WeakRef WeakSet alert \
    clearImmediate clearInterval clearTimeout decodeURI decodeURIComponent encodeURI \
    encodeURIComponent escape eval fetch import isFinite isNaN parseFloat parseInt \
    queueMicrotask require setImmediate setInterval setTimeout structuredClone unescape";

const SCRIPT_METHODS: &str = "add addEventListener all apply appendChild at bind call catch charAt \
    charCodeAt clear concat constructor createElement defineProperty delete emit end endsWith entries every exec \
    fill filter finally find findIndex findLast flat flatMap forEach freeze from fromEntries get \
    getAttribute getTime has hasOwnProperty includes indexOf isArray join keys lastIndexOf \
    localeCompare log map match matchAll next normalize now of off on once padEnd padStart parse \
    pop preventDefault push querySelector race reduce reduceRight reject remove \
    removeEventListener repeat replace replaceAll resolve reverse search send set setAttribute \
    shift slice some sort splice split startsWith stringify subarray substring test then \
    toFixed toISOString toJSON toLowerCase toString toUpperCase trim trimEnd trimStart unshift \
    valueOf values write";

const GO: &str = "any append bool byte cap clear close complex complex128 complex64 copy delete error \
    float32 float64 imag int int16 int32 int64 int8 len make max min new panic print println real \
    recover rune string uint uint16 uint32 uint64 uint8 uintptr";

const GO_METHODS: &str = "Add Bytes Close Done Err Error Errorf Fatal Fatalf Flush Format Get Helper \
    Int Is Len Less Load Lock Log Logf Name Read RLock RUnlock Reset Run Scan Set Sprintf Store \
    String Sub Swap Unlock Unwrap Value Wait Write WriteString";

const ZIG_METHODS: &str = "alloc allocator append appendAssumeCapacity appendNTimes appendSlice \
    appendSliceAssumeCapacity clearAndFree clearRetainingCapacity clone close contains count create \
    deinit destroy dupe dupeZ ensureTotalCapacity ensureUnusedCapacity eql fetchRemove first flush \
    format free get getLast getLastOrNull getOrPut getPtr index init initCapacity insert items \
    iterator join keyIterator keys last len load lock next open orderedRemove pop popOrNull print put \
    putNoClobber read readAll readByte realloc remove reset resize seekTo shrinkAndFree signal slice \
    spawn stat store swap swapRemove sync toOwnedSlice toOwnedSliceSentinel tryLock unlock \
    valueIterator values wait write writeAll writeByte writer";

/// Whether a name called alone, or one called on something, may be the language's.
pub(super) fn is_builtin(family: Family, name: &str, is_method: bool) -> bool {
    let names = match (family, is_method) {
        (Family::Python, false) => PYTHON,
        (Family::Python, true) => PYTHON_METHODS,
        (Family::Rust, false) => RUST,
        (Family::Rust, true) => RUST_METHODS,
        (Family::C, false) => C,
        (Family::Script, false) => SCRIPT,
        (Family::Script, true) => SCRIPT_METHODS,
        (Family::Go, false) => GO,
        (Family::Go, true) => GO_METHODS,
        (Family::Zig, true) => ZIG_METHODS,
        // What the compiler itself brings begins with `@` and is no call.
        (Family::C, true) | (Family::Zig, false) => "",
    };
    names.split_ascii_whitespace().any(|known| known == name)
}
