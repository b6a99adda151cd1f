package federation

// Limits of what is stored and sent. Every decoder checks them before it allocates.
const (
	MaxName        = 63          // bytes of a site, route or federation name (chosen: a DNS label)
	MaxRoute       = MaxName + 3 // bytes of a route id: "to." + a site's name (KindAddressed)
	MaxShortString = 255         // bytes of an exchange or a routing key (AMQP 0-9-1 shortstr)
	MaxEntries     = 4096        // entries of a batch
	MaxRawBatch    = 16 << 20    // bytes of a batch before compression
	// MaxEncodedBatch is the bytes of a batch's body after compression. Seal never writes a body that is larger than the
	// raw one; the room is for a writer that keeps the frame of what cannot be compressed (zstd adds 3 bytes to each
	// 128 KiB, RFC 8878 section 3.1.1.2).
	MaxEncodedBatch = MaxRawBatch + 64<<10
	MaxBatchHeader  = 4096      // bytes of a batch's header with its variable part
	MaxDestinations = 48        // destinations of a route (a header with 48 names of 63 bytes fits MaxBatchHeader)
	MaxPath         = 32        // sites of a path
	MaxMembers      = 1024      // memberships of a lane, past ones included (chosen: 48 destinations, each changed 20 times)
	MaxVoids        = 256       // voids of a lane and generation (chosen: each is a person's word; 256 of the longest fit a SYNC)
	MaxSeals        = 4         // seal points of a journal (design section 6.1)
	MaxOpenings     = 64        // earlier openings that a store remembers (chosen: 1 KiB of a HELLO; a peer is seldom away for more of them)
	MaxSignature    = 1024      // bytes of a receipt's signature (Ed25519 takes 64, RSA-4096 512)
	MaxAckItems     = 256       // ranges, and exceptions, of one ACK (chosen: 7.5 KiB at most; what does not fit waits for the next one)
	MaxSidecar      = 4096      // bytes of a sidecar (a path of 32 names takes 2 KiB)
	MaxControlFrame = 128 << 10 // bytes of a frame's payload other than COPY and SYNC (LANE_OPEN with MaxMembers takes 81 KiB)
	MaxSyncFrame    = 1 << 20   // bytes of a SYNC's payload (MaxVoids of the longest take 915 KiB)
	MaxCopyFrame    = 8 + 2 + MaxSidecar + MaxBatchHeader + MaxEncodedBatch
)
