package federation

// Coder compresses and decompresses bodies. It starts no goroutine. One goroutine at a time may use it.
type Coder struct{}

// NewCoder makes the coders of all codecs, each with concurrency 1.
func NewCoder() (*Coder, error) { panic("to be written") }
