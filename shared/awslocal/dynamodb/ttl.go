package dynamodb

import (
	"maps"
	"slices"
	"time"
)

const (
	// maxExpiredAge keeps items whose expiry lies years back: probably a wrong unit, which the service spares too.
	maxExpiredAge = 5 * 365 * 24 * time.Hour
	// sweepBatch bounds how many deletions other writers wait for.
	sweepBatch = 500
)

func (s *Service) updateTimeToLive(c *call) ([]byte, error) {
	name := c.in.text("TableName")
	c.in.require("TimeToLiveSpecification")
	spec := c.in.object("TimeToLiveSpecification")
	if spec == nil {
		return nil, *c.in.first
	}
	spec.require("Enabled")
	enabled, attribute := spec.boolean("Enabled", false), spec.text("AttributeName")
	c.in.fail(spec.done())
	if err := c.in.done(); err != nil {
		return nil, err
	}
	err := s.commitAlone(func(v *view) error {
		t, err := v.table(name)
		switch {
		case err != nil:
			return err
		case enabled && t.ttl != "":
			return invalid("TimeToLive is already enabled")
		case !enabled && t.ttl == "":
			return invalid("TimeToLive is already disabled")
		case !enabled && t.ttl != attribute:
			return invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
		case enabled:
			v.stage(setTTL{name, attribute})
		default:
			v.stage(setTTL{name, ""})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.value("TimeToLiveSpecification", struct {
		AttributeName string
		Enabled       bool
	}{attribute, enabled})
	return o.bytes(), nil
}

func (s *Service) describeTimeToLive(c *call) ([]byte, error) {
	name, err := named(c.in)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(name)
	if err != nil {
		return nil, err
	}
	description := map[string]string{"TimeToLiveStatus": "DISABLED"}
	if t.ttl != "" {
		description = map[string]string{"TimeToLiveStatus": "ENABLED", "AttributeName": t.ttl}
	}
	var o objectWriter
	o.value("TimeToLiveDescription", description)
	return o.bytes(), nil
}

// Sweep deletes the items whose time to live has passed: their TTL attribute is a number of seconds since 1970 that is not in the
// future, nor more than five years in the past. Until a sweep they are visible, as in the service. The server calls it every
// second.
func (s *Service) Sweep() {
	s.mu.RLock()
	names := slices.Sorted(maps.Keys(s.state.tables))
	s.mu.RUnlock()
	for _, name := range names {
		for s.sweepTable(name) == sweepBatch {
		}
	}
}

// sweepTable deletes up to one batch of expired items and returns how many.
func (s *Service) sweepTable(name string) int {
	deleted := 0
	now := s.clock.Now()
	if len(s.expired(name, now)) == 0 {
		return 0
	}
	err := s.commit(func(v *view) error {
		// Looked up again, because an item may have got a new expiry meanwhile; those that the same group is about to
		// write are left for the next sweep.
		for _, r := range s.expiredLocked(name, now) {
			if _, busy := v.items[itemID{name, r.key}]; !busy {
				v.remove(v.state.tables[name], r)
				deleted++
			}
		}
		return nil
	})
	if err != nil {
		s.log.Warn("dynamodb sweep failed", "table", name, "error", err)
		return 0
	}
	return deleted
}

func (s *Service) expired(name string, now time.Time) []*record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.expiredLocked(name, now)
}

// expiredLocked lists up to one batch of expired items. It is called with the lock, or by the committer, who is the only writer.
func (s *Service) expiredLocked(name string, now time.Time) []*record {
	t := s.state.tables[name]
	if t == nil {
		return nil
	}
	var out []*record
	from := max(0, now.Add(-maxExpiredAge).Unix())
	for _, r := range t.expiries.Ascend(expiryBound(from), expiryBound(now.Unix()+1)) {
		if out = append(out, r); len(out) == sweepBatch {
			break
		}
	}
	return out
}
