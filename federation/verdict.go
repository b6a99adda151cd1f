package federation

// Verdict is a receiver's answer to a frame. Only OK and DupOK move custody; the others hold and retry, never park.
type Verdict uint8

// Verdicts (design section 7).
const (
	OK Verdict = iota
	DupOK
	Full
	WindowShut
	NoGrant
	TopologyOld
	NoPath
	Corrupt
	Conflict
	CodecUnknown
	Fenced
	UnknownCritical
	// LinkLost is never sent: the sender's own answer for a frame whose connection ended before the peer answered.
	LinkLost Verdict = 255
)

var verdictNames = map[Verdict]string{
	OK: "OK", DupOK: "DUP_OK", Full: "FULL", WindowShut: "WINDOW", NoGrant: "NO_GRANT", TopologyOld: "TOPOLOGY_OLD",
	NoPath: "NO_PATH", Corrupt: "CORRUPT", Conflict: "CONFLICT", CodecUnknown: "CODEC", Fenced: "FENCED",
	UnknownCritical: "UNKNOWN_CRITICAL", LinkLost: "LINK_LOST",
}

// String gives the verdict's name as it stands in the design, "VERDICT_n" for an unknown one.
func (v Verdict) String() string {
	if s, ok := verdictNames[v]; ok {
		return s
	}
	return "VERDICT_" + itoa(uint64(v))
}

// MovesCustody tells whether the sender may regard the frame as taken.
func (v Verdict) MovesCustody() bool { return v == OK || v == DupOK }
