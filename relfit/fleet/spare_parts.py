"""Which causes of failure need a spare part."""

from __future__ import annotations

import re

_NOT_KNOWN = r"""
    \s*|(?:the[ ])?(?:cause[ ])?(?:un(?:known|determined|specified|identified|classified)|undefined
    |not[ ](?:known|stated|determined|specified)|others?|none|nan|null|n/?a|misc(?:ellaneous)?)(?:[ ](?:cause|reason))?
"""
_NO_PART = r"""
    \bsoft(?:ware)?\b|application|kernel|firmware|\bdrivers?\b|\bbug|file[ ]?system|\bscheduler|configuration
    |\bout[ ]of[ ]memory|\boom\b|\bos\b|operating[ ]system|reboot|lockup|\bhang|\bhung\b
    |human|operator|\busers?\b|mistake|maintenance|upgrade
    |not[ ]responding|unresponsive|unreachable|time[ds]?[ ]?out|heartbeat
"""
_PART = r"""
    hard(?:ware|[ ]?(?:disk|drive))|\bdis[ck]s?\b|\bdrives?\b|\bssd|\bnvme|\bgpu|\bcpu|processor|memory|\bdimm|\bram\b
    |\becc\b|\bboards?\b|motherboard|mainboard|\bcards?\b|\bnics?\b|\bhca|adapter|cable|transceiver|controller|\bfans?\b
    |power[ ]suppl|\bpsu|batter
"""
_SHARED = r"""
    network|switch|fabric|interconnect|ethernet|infiniband|\bdns\b|\blink\b
    |facilit|environment|building|power|cooling|chiller|air[ ]condition|\ba/?c\b|\bups\b|temperature|water|outage
"""


def needs_part(cause: str) -> bool:
    """Whether a failure of this cause takes a part from stock: any does, with a site's own name of a part, but
    software, people, the network, the building, symptoms such as an unresponsive node, and unknown causes.
    """
    text = re.sub(r"[\s_-]+", " ", str(cause)).strip().lower()
    if re.fullmatch(_NOT_KNOWN, text, re.VERBOSE) or re.search(_NO_PART, text, re.VERBOSE):
        return False
    return bool(re.search(_PART, text, re.VERBOSE)) or not re.search(_SHARED, text, re.VERBOSE)
