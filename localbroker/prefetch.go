package localbroker

// prefetch turns a budget of bytes into the number of messages that the broker may have on the way, which is the only measure that
// RabbitMQ knows: budget / size of the largest message seen lately, within 1 and most. It is pure.
type prefetch struct {
	budget int64 // bytes
	most   int   // messages
	size   int64 // what one message is taken to be; never below budget/most
	recent int64 // largest since the last tick
}

func newPrefetch(budget, most int) prefetch {
	p := prefetch{budget: int64(budget), most: most}
	p.size = p.least()
	return p
}

func (p *prefetch) least() int64 { return max(p.budget/int64(p.most), 1) }

// count is the number to ask for.
func (p *prefetch) count() int { return int(max(p.budget/p.size, 1)) }

// seen counts a message in, and tells whether fewer are to be asked for: when the largest has doubled, so that slow growth does not
// ask every time.
func (p *prefetch) seen(size int64) (fewer bool) {
	p.recent = max(p.recent, size)
	if size < 2*p.size {
		return false
	}
	before := p.count()
	p.size = size
	return p.count() < before
}

// tick ends a period, and tells whether more may be asked for: when all of the period would have allowed four times as many.
func (p *prefetch) tick() (more bool) {
	recent := max(p.recent, p.least())
	p.recent = 0
	if recent > p.size/4 {
		return false
	}
	p.size = recent
	return true
}

// over tells whether what is held is too much: large messages came where small ones were asked for.
func (p *prefetch) over(held int64, messages int) bool { return messages > 1 && held > 2*p.budget }
