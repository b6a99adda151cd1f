package federation

// Limits of what is stored and sent. Every decoder checks them before it allocates.
const (
	MaxName         = 63                   // bytes of a site, route or federation name (chosen: a DNS label)
	MaxShortString  = 255                  // bytes of an exchange or a routing key (AMQP 0-9-1 shortstr)
	MaxEntries      = 4096                 // entries of a batch
	MaxRawBatch     = 16 << 20             // bytes of a batch before compression
	MaxEncodedBatch = MaxRawBatch + 64<<10 // bytes of a batch's body after compression (incompressible data grows by at most 1.1 %, measured at 1 KiB; the encoder falls back to none)
	MaxBatchHeader  = 4096                 // bytes of a batch's header with its variable part
	MaxDestinations = 48                   // destinations of a route (a header with 48 names of 63 bytes fits MaxBatchHeader)
	MaxPath         = 32                   // sites of a path
)
