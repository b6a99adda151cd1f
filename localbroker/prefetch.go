package localbroker

import "math/bits"

// prefetch turns a budget of bytes into the number of messages that the broker may have on the way, which is the only
// measure that RabbitMQ knows: budget / size, where size is a power of two that no message of late exceeded. It begins
// small, because a queue's first messages may be large, and grows after patience messages that would have allowed four
// times as many. It is pure.
type prefetch struct {
	budget   int64 // bytes
	most     int   // messages
	size     int64 // what one message is taken to be, never below budget/most
	recent   int64 // largest of the last quiet messages
	quiet    int   // messages since the size was last looked at
	patience int   // doubles with each larger message that came, so that a mix of sizes does not ask all the time
}

const (
	firstCount   = 8     // messages asked for at first. Chosen: 8 of 1 MiB are twice the default budget
	firstQuiet   = 32    // messages before the first growth
	mostPatience = 65536 // messages; a second or a few at full rate
)

func newPrefetch(budget, most int) prefetch {
	p := prefetch{budget: int64(budget), most: most, patience: firstQuiet}
	p.size = max(p.least(), p.budget/firstCount)
	return p
}

func (p *prefetch) least() int64 { return max(p.budget/int64(p.most), 1) }

// count is the number to ask for.
func (p *prefetch) count() int { return int(max(p.budget/p.size, 1)) }

// seen counts a message in, and tells whether another number is to be asked for.
func (p *prefetch) seen(size int64) (other bool) {
	before := p.count()
	p.recent = max(p.recent, size)
	p.quiet++
	switch {
	case size > p.size:
		p.patience = min(2*p.patience, mostPatience)
		p.size = powerOfTwo(size)
	case p.quiet < p.patience:
		return false
	default:
		if lower := max(p.least(), powerOfTwo(p.recent)); lower <= p.size/4 {
			p.size = lower
		}
	}
	p.recent, p.quiet = 0, 0
	return p.count() != before
}

// over tells whether what is held is too much: larger messages came than were asked for. Twice the budget may be held
// while the number changes, when what was asked for before and after is on the way.
func (p *prefetch) over(held int64, messages int) bool { return messages > 1 && held > 2*p.budget }

// powerOfTwo gives the next one that is not below n.
func powerOfTwo(n int64) int64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(uint64(n-1))
}
