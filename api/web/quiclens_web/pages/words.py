"""The page that says what the words mean."""

from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_questions.advice import ADVICE
from quiclens_questions.causes import look
from quiclens_questions.sentence import CAUSE_WORDS

WORDS = (
    ("observed, inferred", "the log says it in so many words; or it is reckoned from what the log says, as that "
     "the window was full since bytes in flight had reached it"),
    ("held", "how long a condition held in all; where several held at once, each moment is the part of one of them"),
    ("without it, sooner by", "by how much earlier the request would have ended, predicted; these do not add up, since "
     "one moment can be saved in more than one way"),
    ("recovery period", "from the packet that showed a loss until a packet sent after it is acknowledged (RFC 9002, "
     "7.3.2); the window does not grow meanwhile"),
    ("lost and repaired", "from when a packet's acknowledgement was due until its data was acknowledged from another"),
    ("lost, but arrived", "declared lost and acknowledged all the same: a needless repair"),
    ("trace, coverage", "a connection's log; how much of it there is: full, partial (cut), summary (its events were "
     "not kept), none"),
    ("whole, repaired, damaged", "no record of the request is missing; some are, and neither the largest part nor the "
     "duration can be much different; or they can"),
    ("between", "least and most that a part can be, where records of the log are missing"),
    ("weight", "how many requests one stands for, where a server traces only some"),
    ("samples, clusters", "what was measured; what it comes in, such as users, whose samples are alike: the fewer "
     "clusters, the wider an interval"),
    ("failed", "given up (reset), or answered with a status of 500 or more; no sample of a tail"),
    ("arm", "the side of an experiment that a request was on, as the access log says"),
    ("p95", "95 % of requests took no longer; null where too few were measured"),
)  # fmt: skip


def cause_words() -> list[dict[str, Any]]:
    """Each cause in vocabulary order: its name in conditions, its look, why a request waited, and what helps."""
    return [
        {
            "name": cause,
            "look": look(cause).name,
            "reason": CAUSE_WORDS[cause].reason.format(packets="a lost packet had", direction="coming in"),
            "advice": ADVICE[cause],
        }
        for cause in CAUSES
    ]
