package spool

import (
	"container/list"
	"sync"
)

// maxCachedExtents bounds the cache of extents: 8 MiB of memory. Chosen: 256 lanes that each read a segment of 1,000
// batches at once.
const maxCachedExtents = 256 << 10

// extentCache keeps the extents of the lanes and segments that are being read. The least recently used go first.
type extentCache struct {
	mu    sync.Mutex // guards all below
	items map[extentKey]*list.Element
	order *list.List // of *cachedExtents, the most recently used first
	total int
}

type extentKey struct {
	segment *segment
	lane    laneKey
}

type cachedExtents struct {
	key     extentKey
	extents []extent // sorted by first offset, never changed
}

func newExtentCache() *extentCache {
	return &extentCache{items: make(map[extentKey]*list.Element), order: list.New()}
}

func (c *extentCache) get(g *segment, lane laneKey) ([]extent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok := c.items[extentKey{g, lane}]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(item)
	return item.Value.(*cachedExtents).extents, true
}

// put keeps extents, which must be sorted and are not changed any more.
func (c *extentCache) put(g *segment, lane laneKey, extents []extent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := extentKey{g, lane}
	if old, ok := c.items[key]; ok {
		c.remove(old)
	}
	c.items[key] = c.order.PushFront(&cachedExtents{key, extents})
	c.total += len(extents) + 1
	for c.total > maxCachedExtents && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop forgets a segment.
func (c *extentCache) drop(g *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, item := range c.items {
		if key.segment == g {
			c.remove(item)
		}
	}
}

func (c *extentCache) remove(item *list.Element) {
	old := c.order.Remove(item).(*cachedExtents)
	delete(c.items, old.key)
	c.total -= len(old.extents) + 1
}
