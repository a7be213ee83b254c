"""Logs that stand in for real ones where none are at hand: of the same kinds, from a fixed seed.

`python -m bench.python.logs.stand_in` prints the folder that the suite reads: the one that `TIMESTRATA_LOGS`
names, the real logs beside the repository, or else one in the cache with these.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.python.common.arguments import SHARED, TARGET
from bench.python.logs.corpus import STAND_IN

PATHS = (
    "/", "/favicon.ico", "/robots.txt", "/style.css", "/search?q={n}", "/articles/{n}.html",
    "/images/{n}.jpg", "/feeds/all.xml", "/downloads/{n}.tar.gz", "/login", "/admin/setup.php",
)  # fmt: skip
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{n}.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1; rv:{n}.0) Gecko/20100101 Firefox/{n}.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "UniversalFeedParser/4.2 +http://feedparser.org/",
    "-",
)
USERS = ("root", "admin", "test", "oracle", "git", "postgres", "deploy", "nagios")
STATES = ("OnlineReplica", "NewReplica", "OfflineReplica", "NonExistentReplica")


def _address(rng: random.Random) -> str:
    # A few clients send most requests.
    host = min(int(rng.paretovariate(0.6)), 60_000)
    return f"{17 + host % 180}.{host * 7 % 256}.{host * 31 % 256}.{host % 254 + 1}"


def _access(rng: random.Random) -> Iterator[str]:
    for at in range(10_000):
        second = at * 34
        day, hour, minute = 17 + second // 86_400, second // 3_600 % 24, second // 60 % 60
        path = rng.choice(PATHS).format(n=int(rng.paretovariate(0.8)) % 5_000)
        status = rng.choices((200, 304, 404, 301, 206, 500), (880, 60, 35, 15, 8, 2))[0]
        size = "-" if status == 304 else str(int(rng.lognormvariate(9, 2)))
        referrer = rng.choice(("-", "-", "http://www.example.org" + path))
        agent = rng.choice(AGENTS).format(n=rng.randrange(20, 34))
        yield (
            f"{_address(rng)} - - [{day:02}/May/2015:{hour:02}:{minute:02}:{second % 60:02} +0000] "
            f'"GET {path} HTTP/1.1" {status} {size} "{referrer}" "{agent}"'
        )


def _authentication(rng: random.Random) -> Iterator[str]:
    second = 0
    for at in range(7_000):
        second = min(second + rng.randrange(90), 31 * 86_400 - 1)
        days, hour, minute = second // 86_400, second // 3_600 % 24, second // 60 % 60
        user, address, port = rng.choice(USERS), _address(rng), rng.randrange(30_000, 60_000)
        texts = (
            f"Failed password for {user} from {address} port {port} ssh2",
            f"Failed password for invalid user {user}{at % 97} from {address} port {port} ssh2",
            f"Invalid user {user}{at % 97} from {address}",
            f"Received disconnect from {address}: 11: Bye Bye [preauth]",
            f"pam_unix(sshd:session): session opened for user {user} by (uid=0)",
            f"Accepted publickey for {user} from {address} port {port} ssh2: RSA {rng.getrandbits(64):x}",
        )
        yield (
            f"Mar {days + 1:2} {hour:02}:{minute:02}:{second % 60:02} gateway-{at % 3} "
            f"sshd[{rng.randrange(1_000, 32_000)}]: {rng.choice(texts)}"
        )


def _brokers(rng: random.Random) -> Iterator[str]:
    milliseconds = 72_000_000
    for _ in range(3_000):
        milliseconds = min(milliseconds + int(rng.expovariate(1 / 900)), 86_399_999)
        seconds = milliseconds // 1_000
        time = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{milliseconds % 1_000:03}"
        leader, broker, part, epoch = (rng.randrange(most) for most in (3, 3, 50, 60))
        texts = (
            f"epoch 36 sending UpdateMetadata request (Leader:{leader},ISR:0,1,2,LeaderEpoch:{epoch},"
            f"ControllerEpoch:36) to broker {broker} for partition __consumer_offsets-{part}",
            f"epoch 36 changed partition [__consumer_offsets,{part}] state from OnlinePartition to "
            f"OfflinePartition with leader {leader}",
            f"epoch 36 changed state of replica {broker} for partition [events,{part}] from "
            f"{rng.choice(STATES)} to {rng.choice(STATES)}",
        )
        yield f"[2016-12-19 {time}] TRACE Controller 0 {rng.choice(texts)} (state.change.logger)"


def _json(rng: random.Random) -> Iterator[str]:
    for at in range(500):
        line = {
            "time": f"2017-04-21T{at // 60:02}:{at % 60:02}:00+00:00",
            "remote_ip": _address(rng),
            "request": f"GET {rng.choice(PATHS).format(n=at)} HTTP/1.1",
            "response": str(rng.choice((200, 304, 404))),
            "bytes": str(int(rng.lognormvariate(9, 2))),
            "agent": rng.choice(AGENTS).format(n=at % 30),
            "upstream": [{"address": f"10.2.{at % 7}.1:8080", "time_ms": rng.random() * 100}],
        }
        yield json.dumps(line)


FILES: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "apache_logs.log": _access,
    "auth.log": _authentication,
    "kafka_state-change.log": _brokers,
    "nginxplus_json_logs.ndjson": _json,
}


def made_in(folder: Path) -> Path:
    """The folder with all files, each made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in FILES.items():
        path = folder / name
        if not path.exists():
            unfinished = path.with_suffix(".new")
            unfinished.write_text("".join(f"{line}\n" for line in lines(random.Random(name))))
            os.replace(unfinished, path)
    return folder


def folder_of_logs() -> Path:
    """Where the logs are that the suite reads."""
    named = os.environ.get("TIMESTRATA_LOGS")
    if named:
        return Path(named)
    real = SHARED / "logs"
    if all((real / name).exists() for name in FILES):
        return real
    return made_in(TARGET / STAND_IN / "logs")


if __name__ == "__main__":
    print(folder_of_logs().absolute())
