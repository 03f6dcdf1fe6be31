package store

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"bailing/shared/registry"
)

// autoReads is how many batches of routes are read side by side.
const autoReads = 4

// ReadAutoRoutes reads the routes that take part in automatic routing, by key: one trip to the index, which only says which
// routes there are, and one for the routes themselves, 100 per request and up to autoReads requests together. The others are
// dropped while reading, so that memory holds the candidates only.
func (s *Store) ReadAutoRoutes(ctx context.Context) ([]registry.Route, error) {
	refs, err := s.listKind(ctx, kindRoute)
	if err != nil {
		return nil, err
	}
	chunks := slices.Collect(slices.Chunk(refs, batchGetMax))
	found := make([][]registry.Route, len(chunks))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(autoReads)
	for i, chunk := range chunks {
		g.Go(func() (err error) {
			found[i], err = s.autoRoutes(gctx, chunk)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

func (s *Store) autoRoutes(ctx context.Context, refs []ref) (out []registry.Route, err error) {
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return nil, err
	}
	if err := s.resolveDocs(ctx, items...); err != nil {
		return nil, err
	}
	for _, it := range items {
		r, err := decodeRecord[registry.Route](it)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Value.Audience.Routable() {
			out = append(out, r.Value)
		}
	}
	return out, nil
}
