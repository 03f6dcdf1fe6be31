package dynamodb

import (
	"slices"
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

const (
	maxBatchGet      = 100
	maxBatchGetBytes = 16 << 20
	maxBatchWrite    = 25
)

// batchSize counts the items of a batch before it is decoded, for fault injection.
func batchSize(in *object) int {
	n := 0
	tables, _ := in.members["RequestItems"].(map[string]any)
	for _, t := range tables {
		switch x := t.(type) {
		case []any: // write requests
			n += len(x)
		case map[string]any:
			keys, _ := x["Keys"].([]any)
			n += len(keys)
		}
	}
	return n
}

// batchGetTable is the part of a BatchGetItem that concerns one table.
type batchGetTable struct {
	name       string
	raw        map[string]any // as received, to be repeated in UnprocessedKeys
	rawKeys    []any
	keys       []attr.Map
	consistent bool
	projection *expr.Projection
}

func (s *Service) batchGetItem(c *call) ([]byte, error) {
	capacity := wantsCapacity(c.in)
	tables, total, err := decodeBatchGet(c.in)
	if err != nil {
		return nil, err
	}
	budget := total
	if c.half {
		budget = (total + 1) / 2
	}
	found, processed, err := s.readBatch(tables, budget)
	if err != nil {
		return nil, err
	}
	var responses, unprocessed objectWriter
	used := capacityByTable{}
	var names []string
	for i, t := range tables {
		names = append(names, t.name)
		// The API promises no order; the order of a hash keeps callers from assuming one.
		slices.SortFunc(found[i], func(a, b *record) int { return strings.Compare(a.key, b.key) })
		responses.list(t.name, len(found[i]), func(b []byte, j int) []byte {
			return attr.AppendItem(b, projected(t.projection, found[i][j].item))
		})
		for _, r := range found[i] {
			used[t.name] += readUnits(r.size, t.consistent)
		}
		used[t.name] += float64(processed[i]-len(found[i])) * readUnits(0, t.consistent)
		if rest := t.rawKeys[processed[i]:]; len(rest) > 0 {
			t.raw["Keys"] = rest
			unprocessed.value(t.name, t.raw)
		}
	}
	var o objectWriter
	o.name("Responses")
	o.b = append(o.b, responses.bytes()...)
	o.name("UnprocessedKeys")
	o.b = append(o.b, unprocessed.bytes()...)
	if capacity {
		used.write(&o, names)
	}
	return o.bytes(), nil
}

func decodeBatchGet(in *object) (tables []*batchGetTable, total int, err error) {
	in.require("RequestItems")
	items := in.object("RequestItems")
	if *in.first != nil {
		return nil, 0, *in.first
	}
	for _, name := range items.names() {
		t := &batchGetTable{name: name}
		if t.raw, _ = items.members[name].(map[string]any); t.raw == nil {
			items.wrongType(name, "object")
			break
		}
		t.rawKeys, _ = t.raw["Keys"].([]any)
		part := items.child(name, t.raw)
		delete(items.members, name)
		part.take("Keys")
		for _, k := range t.rawKeys {
			key, err := attr.ItemFromWire(k)
			if err != nil {
				return nil, 0, err
			}
			t.keys = append(t.keys, key)
		}
		t.consistent = part.boolean("ConsistentRead", false)
		if t.projection, err = projector(part); err != nil {
			return nil, 0, err
		}
		in.fail(part.done())
		if len(t.keys) == 0 {
			in.fail(invalid("1 validation error detected: '%s.Keys' must have between 1 and %d members", part.path, maxBatchGet))
		}
		total += len(t.keys)
		tables = append(tables, t)
	}
	if total == 0 {
		in.fail(invalid("1 validation error detected: RequestItems must have at least 1 member"))
	}
	if total > maxBatchGet {
		in.fail(invalid("Too many items requested for the BatchGetItem call: %d, at most %d are allowed", total, maxBatchGet))
	}
	return tables, total, in.done()
}

// readBatch reads up to budget keys and 16 MB. It returns the items found and the number of keys processed of each table.
func (s *Service) readBatch(tables []*batchGetTable, budget int) (found [][]*record, processed []int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []itemID
	found, processed = make([][]*record, len(tables)), make([]int, len(tables))
	bytes, full := 0, false
	for i, part := range tables {
		t, err := s.table(part.name)
		if err != nil {
			return nil, nil, err
		}
		for _, key := range part.keys {
			if err := t.spec.checkKey(key); err != nil {
				return nil, nil, err
			}
			id := itemID{part.name, t.spec.key.encode(key)}
			ids = append(ids, id)
			r := t.get(id.key)
			if r != nil && bytes+r.size > maxBatchGetBytes || budget == 0 {
				full = true
			}
			if full {
				continue
			}
			budget--
			processed[i]++
			if r != nil {
				bytes += r.size
				found[i] = append(found[i], r)
			}
		}
	}
	if duplicates(ids) {
		return nil, nil, invalid("Provided list of item keys contains duplicates")
	}
	return found, processed, nil
}

// batchWrite is one request of a BatchWriteItem.
type batchWrite struct {
	itemWrite
	raw any // as received, to be repeated in UnprocessedItems
}

func (s *Service) batchWriteItem(c *call) ([]byte, error) {
	capacity := wantsCapacity(c.in)
	c.in.enum("ReturnItemCollectionMetrics", "NONE", "SIZE") // see writeSingle
	writes, err := decodeBatchWrite(c.in)
	if err != nil {
		return nil, err
	}
	n := len(writes)
	if c.half {
		n = (n + 1) / 2
	}
	used := capacityByTable{}
	if err := s.commit(func(v *view) error { return decideBatch(v, writes, n, used) }); err != nil {
		return nil, err
	}
	var o, unprocessed objectWriter
	var names []string
	for rest := writes; len(rest) > 0; {
		name := rest[0].table
		names = append(names, name)
		var raws []any
		for len(rest) > 0 && rest[0].table == name {
			if len(rest) <= len(writes)-n {
				raws = append(raws, rest[0].raw)
			}
			rest = rest[1:]
		}
		if raws != nil {
			unprocessed.value(name, raws)
		}
	}
	o.name("UnprocessedItems")
	o.b = append(o.b, unprocessed.bytes()...)
	if capacity {
		used.write(&o, names)
	}
	return o.bytes(), nil
}

// decideBatch checks all writes and stages the first n.
func decideBatch(v *view, writes []*batchWrite, n int, used capacityByTable) error {
	var ids []itemID
	effects := make([]effect, len(writes))
	for i, w := range writes {
		t, err := w.resolve(v)
		if err != nil {
			return err
		}
		ids = append(ids, itemID{w.table, t.spec.key.encode(w.item)})
		if effects[i], err = w.decide(v, t); err != nil {
			return err
		}
	}
	if duplicates(ids) {
		return invalid("Provided list of item keys contains duplicates")
	}
	for i, e := range effects[:n] {
		e.stage(v)
		used[writes[i].table] += writeUnits(e.size())
	}
	return nil
}

func decodeBatchWrite(in *object) ([]*batchWrite, error) {
	in.require("RequestItems")
	items := in.object("RequestItems")
	if *in.first != nil {
		return nil, *in.first
	}
	var writes []*batchWrite
	for _, name := range items.names() {
		raws, _ := items.members[name].([]any)
		requests := items.list(name)
		if len(requests) == 0 {
			in.fail(invalid("1 validation error detected: 'RequestItems.%s' must have between 1 and %d members", name, maxBatchWrite))
		}
		for i, r := range requests {
			w := &batchWrite{raw: raws[i]}
			w.table = name
			decodeBatchRequest(r, w)
			writes = append(writes, w)
		}
	}
	if len(writes) == 0 || len(writes) > maxBatchWrite {
		in.fail(invalid("Too many items requested for the BatchWriteItem call: %d, between 1 and %d are allowed", len(writes), maxBatchWrite))
	}
	return writes, in.done()
}

// decodeBatchRequest reads {"PutRequest":{"Item":…}} or {"DeleteRequest":{"Key":…}}.
func decodeBatchRequest(in *object, w *batchWrite) {
	member := "Item"
	w.kind = writePut
	request := "PutRequest"
	if !in.has(request) {
		member, w.kind, request = "Key", writeDelete, "DeleteRequest"
	}
	inner := in.object(request)
	if inner == nil {
		in.fail(invalid("Supplied AttributeValue has no write request: %s must have a PutRequest or a DeleteRequest", strings.TrimSuffix(in.path, ".")))
		return
	}
	inner.require(member)
	w.item = inner.item(member)
	in.fail(inner.done())
	in.fail(in.done())
}
