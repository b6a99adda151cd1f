package memstore_test

import (
	"testing"

	"cloudqueue/router/spool/memstore"
	"cloudqueue/router/spool/storetest"
)

func TestMemstorePassesTheSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place { return memstore.New(memstore.Options{}) })
}

func TestMemstoreOfBigSectorsPassesTheSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place { return memstore.New(memstore.Options{Alignment: 512}) })
}

func TestEveryCrashOfAMemstoreKeepsWhatWasAcknowledged(t *testing.T) {
	storetest.Crash(t, func(*testing.T) storetest.Machine { return memstore.New(memstore.Options{}) }, 10_000)
}
