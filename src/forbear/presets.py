"""
The waits of known systems, as backoffs: for talking to them, replacing them, or comparing with
them.

Law: numbers of others, with source and date, and nothing else. A preset says how long, never how
often: what the system does about attempts and time limits is told beside it, because those belong
to the policy. Presets don't follow their systems: the numbers stand for the version named, so that
a dependency's update changes no waits.

| preset | delay after the n-th failure, in seconds |
|---|---|
| `CENKALTI` | min(0.5 * 1.5^(n-1), 60) * U(0.5, 1.5) |
| `KUBERNETES` | min(0.5 * 2^(n-1), 122) |
| `REDIS_PY` | U(0, min(0.02 * 2^(n-1), 1)) |
| `AWS_2026` | U(0, min(0.05 * 2^(n-1), 20)) |
| `AWS_LEGACY` | U(0, min(2^(n-1), 20)) |
| `GRPC_CONNECTION` | min(1.6^(n-1), 120) * U(0.8, 1.2) |
| `GOOGLE_CLOUD` | U(0, min(2^(n-1), 60)) |

>>> [round(delay, 3) for delay in CENKALTI.take(6).delays(random=lambda: 0.5)]
[0.5, 0.75, 1.125, 1.688, 2.531, 3.797]
"""

from __future__ import annotations

from .backoff import Exponential

__all__ = [
    "AWS_2026",
    "AWS_LEGACY",
    "CENKALTI",
    "GOOGLE_CLOUD",
    "GRPC_CONNECTION",
    "KUBERNETES",
    "REDIS_PY",
]

CENKALTI = Exponential(0.5, 1.5, cap=60.0, jitter=0.5)
"""
cenkalti/backoff for Go: 0.5 s, x 1.5, at most 60 s before ±50 % of jitter, so 90 s at most.

Beside it: no limit of tries, 15 min in all: `attempts=None, total_timeout=900`.

Source: the default constants of its exponential policy, the same from v4.3.0 (2024-01) to v7.0.0
(2026-06).
"""

KUBERNETES = Exponential(0.5, 2.0, cap=122.0, jitter="none")
"""
Kubernetes' hold on a failed volume operation: 0.5 s, doubled, at most 2 min 2 s, no jitter.

Beside it: no limit of tries; a success starts anew. Without jitter all nodes come back in step
(kubernetes/kubernetes#87915): for a fleet of your own take `jitter="equal"` with the same numbers.

Source: kubernetes/kubernetes, `pkg/util/goroutinemap/exponentialbackoff`, main branch of summer
2026 (the cap was 2 min in old releases).
"""

REDIS_PY = Exponential(0.02, 2.0, cap=1.0, jitter="full")
"""
What a redis-py client does: 20 ms, doubled, at most 1 s, full jitter.

Beside it: 10 retries, `attempts=11`. redis-py counts from base * 2^1, so its base of 10 ms is a
first 20 ms.

It is not quite the same from the seventh failure on, on purpose. redis-py jitters first and caps
last, min(1, U(0, 0.02 * 2^(n-1))): after the seventh failure 22 % of its delays are exactly 1 s,
after the tenth 90 %, and the clients are in step again. Here they stay U(0, 1). The ten waits of a
whole outage come to 2.6 s on average, redis-py's to 3.9 s.

Source: the default `retry` of `redis.Redis` in redis-py 8.0.0 to 8.1.0 (2026),
`ExponentialWithJitterBackoff(cap=1, base=0.01)`; not the default of its backoff classes, which is
base 8 ms, cap 512 ms.
"""

AWS_2026 = Exponential(0.05, 2.0, cap=20.0, jitter="full")
"""
The AWS SDKs' standard mode as rewritten: 50 ms, doubled, at most 20 s, full jitter.

Beside it: 3 attempts, and a quota of 500 from which a retry takes 14. Errors of throttling start at
1 s (that is `AWS_LEGACY`); DynamoDB starts at 25 ms and has 4 attempts. A server's hint t is kept
within [t, t + 5 s].

Source: "Updated default retry behavior for AWS SDKs and tools", AWS Developer Tools Blog; the
default since 2026-11-10, in Python since botocore 1.44.0.
"""

AWS_LEGACY = Exponential(1.0, 2.0, cap=20.0, jitter="full")
"""
The AWS SDKs' standard mode before: 1 s, doubled, at most 20 s, full jitter.

Beside it: 3 attempts, and a quota of 500 from which a retry takes 5, or 10 after a timeout.

Source: botocore's standard mode before 1.44.0, so until 2026-11. Its mode by the name of "legacy"
is another.
"""

GRPC_CONNECTION = Exponential(1.0, 1.6, cap=120.0, jitter=0.2)
"""
gRPC's reconnecting: 1 s, x 1.6, at most 120 s before ±20 % of jitter, so 144 s at most.

Beside it: no limit of tries, and at least 20 s for each. gRPC leaves the very first second without
jitter, and counts its waits from the start of an attempt (a `Ticker` does as well). For calls gRPC
has no fixed numbers: each service says its own.

Source: "GRPC Connection Backoff Protocol", grpc/grpc `doc/connection-backoff.md`, as of summer
2026.
"""

GOOGLE_CLOUD = Exponential(1.0, 2.0, cap=60.0, jitter="full")
"""
Google Cloud's Python clients: 1 s, doubled, at most 60 s, full jitter.

Beside it: no limit of tries, 120 s in all: `attempts=None, total_timeout=120`. The Go clients
(gax-go) cap at 30 s.

Source: the defaults of `google.api_core.retry.Retry` in google-api-core 2.44.0 (2026).
"""
