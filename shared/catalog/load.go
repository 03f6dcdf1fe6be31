package catalog

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/singleflight"

	"bailing/shared/capability"
)

// Values reads what is stored under its content address.
type Values interface {
	GetValue(ctx context.Context, address string) ([]byte, error)
}

// Compiled is a compiled specification and what is made of it once: what only agents need when the first of them looks, since
// jobs read the same catalogues. It is immutable and safe for concurrent use.
type Compiled struct {
	tools     []capability.Tool
	byName    map[string]int
	published func() []facet // of each tool
	index     func() *index
}

// Decode reads a stored catalogue.
func Decode(stored []byte) (*Compiled, error) {
	var c capability.Catalog
	if err := json.Unmarshal(stored, &c); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return New(c.Tools), nil
}

// New holds tools, which must not change any more.
func New(tools []capability.Tool) *Compiled {
	c := &Compiled{tools: tools, byName: make(map[string]int, len(tools))}
	for i := range tools {
		if _, twice := c.byName[tools[i].Name]; !twice {
			c.byName[tools[i].Name] = i
		}
	}
	c.published = sync.OnceValue(func() []facet {
		facets := make([]facet, len(tools))
		for i := range tools {
			facets[i] = newFacet(&tools[i])
		}
		return facets
	})
	c.index = sync.OnceValue(func() *index { return newIndex(tools) })
	return c
}

// Tool is the tool called name, or nil.
func (c *Compiled) Tool(name string) *capability.Tool {
	if i, ok := c.byName[name]; ok {
		return &c.tools[i]
	}
	return nil
}

// maxCached bounds the catalogues kept in memory, in bytes of their stored form; what is made of them takes a few times as much.
const maxCached = 16 << 20

// Cache keeps catalogues by their content address, the least recently used go first. The zero Cache is empty and ready. It is
// safe for concurrent use, and must not be copied.
type Cache struct {
	loads singleflight.Group

	mu    sync.Mutex
	known map[string]*list.Element // of cached
	used  list.List                // most recent first
	bytes int
}

type cached struct {
	address  string
	compiled *Compiled
	bytes    int
}

// Load returns the catalogue at a content address. Callers that want the same one at the same time share one read; it is made
// with the context of the first, so that it ends with its caller, and when that context ends the others read for themselves.
// Failures are not kept.
func (c *Cache) Load(ctx context.Context, from Values, address string) (*Compiled, error) {
	for {
		if known := c.get(address); known != nil {
			return known, nil
		}
		v, err, shared := c.loads.Do(address, func() (any, error) { return c.read(ctx, from, address) })
		if err == nil {
			return v.(*Compiled), nil
		}
		if !shared || ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
}

func (c *Cache) read(ctx context.Context, from Values, address string) (*Compiled, error) {
	b, err := from.GetValue(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", address, err)
	}
	compiled, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w (at %s)", err, address)
	}
	c.put(cached{address, compiled, len(b)})
	return compiled, nil
}

func (c *Cache) get(address string) *Compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.known[address]
	if at == nil {
		return nil
	}
	c.used.MoveToFront(at)
	return at.Value.(cached).compiled
}

// put keeps a catalogue, the newest one however large it is.
func (c *Cache) put(e cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[e.address] != nil {
		return
	}
	if c.known == nil {
		c.known = map[string]*list.Element{}
	}
	c.known[e.address] = c.used.PushFront(e)
	for c.bytes += e.bytes; c.bytes > maxCached && c.used.Len() > 1; {
		oldest := c.used.Remove(c.used.Back()).(cached)
		delete(c.known, oldest.address)
		c.bytes -= oldest.bytes
	}
}
