package spool_test

import (
	"context"
	"fmt"
	"log"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// A router opens its store, runs the spool beside everything else, and commits marks and batches together.
func Example() {
	ctx := context.Background()
	disk := memstore.New(memstore.Options{})
	store, err := disk.Open()
	if err != nil {
		log.Fatal(err)
	}
	s, err := spool.Open(ctx, store, spool.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()

	key := federation.MarkKey{Kind: federation.MarkOwner}
	if err := s.Commit(ctx, spool.MarkRecord{Key: key, Value: []byte("3")}); err != nil {
		log.Fatal(err) // nobody knows: it may turn up after a restart
	}
	value, _ := s.Mark(key)
	fmt.Printf("%s\n", value)

	if err := s.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := <-ran; err != nil {
		log.Fatal(err)
	}
	// Output: 3
}
