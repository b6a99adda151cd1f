package router

// poke wakes the one that waits on a channel of capacity 1. It looks at everything, so one poke that waits is enough.
func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
