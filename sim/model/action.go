package main

// Action kinds. Those from aCrashO on are faults and are bounded by budgets.
const (
	aNone = iota
	aSeal
	aCommit
	aAmqpAck
	aSend
	aTakeFrame // a relay takes a frame: BATCH and COPY durable, then the ack
	aTakeAck
	aRelaySync
	aRelayCommit
	aAsk
	aAdopt
	aPublish
	aRepublish
	aSkipParked
	aBroker
	aOldBroker
	aOldEnds
	aPark
	aJournal
	aReserve
	aReceipt
	aHold
	aReseal
	aOldReceipt
	aExpire
	aRepair
	aCrashO
	aCrashR
	aCrashD
	aLossR
	aLossD
	aLink
	aPath
	aEdit
	aChannel
	aStop
	aCommitFail
	aRemount
	aSpurious
	aSnap
	aRestore
	aCopyD
	aRestoreD
)

// Action is one step of one part of the world.
type Action struct{ K, A, B, C uint8 }

// steps collects actions. Their order is part of the healing schedule, which takes the first one.
type steps []Action

func (s *steps) add(k, a, b, c int) {
	*s = append(*s, Action{uint8(k), uint8(a), uint8(b), uint8(c)})
}

// Outcomes of a publish at the broker.
const (
	oOK = iota
	oNack
	oPoison
	oConfLost
)

// Violations found while stepping.
const (
	badNone = iota
	badG3
	badG2Gap
	badG2Order
	badParked
	badDupOK
)
