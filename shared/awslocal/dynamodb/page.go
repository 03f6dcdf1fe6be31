package dynamodb

import (
	"encoding/binary"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

const maxPageBytes = 1 << 20

// page is what one Query or Scan reads before filter and projection.
type page struct {
	items []attr.Map
	bytes int
	last  attr.Map // where to continue; nil at the end
}

// collect reads items until the limit or 1 MB is reached.
func (s *Service) collect(q *pageRequest, within func(source) (span, error)) (page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	src, err := s.source(q)
	if err != nil {
		return page{}, err
	}
	in, err := within(src)
	if err != nil {
		return page{}, err
	}
	if q.start != nil {
		at, err := src.startPosition(q.start, in)
		if err != nil {
			return page{}, err
		}
		if q.backward {
			in.to = at
		} else {
			in.from = at + "\x00" // the next possible position
		}
	}
	entries := &src.table.items
	if src.index != nil {
		entries = &src.index.items
	}
	walk := entries.Ascend
	if q.backward {
		walk = entries.Descend
	}
	var p page
	for _, r := range walk(in.from, in.to) {
		item, size := src.item(r)
		if p.bytes+size > maxPageBytes && len(p.items) > 0 {
			p.last = src.cursor(p.items[len(p.items)-1])
			break
		}
		p.items = append(p.items, item)
		p.bytes += size
		if len(p.items) == q.limit {
			// Like the service, also when this was the last item: callers must expect an empty page after it.
			p.last = src.cursor(item)
			break
		}
	}
	return p, nil
}

// span is a range of positions: from <= position < to; an empty to has no upper end.
type span struct{ from, to string }

func (s span) contains(at string) bool { return at >= s.from && (s.to == "" || at < s.to) }

// after is the lowest position above everything that begins with prefix.
func after(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xFF {
		b = b[:len(b)-1]
	}
	if len(b) > 0 {
		b[len(b)-1]++
	}
	return string(b)
}

// segmentSpan is one of n equal parts of the hash space.
func segmentSpan(i, n int) span {
	bound := func(i int) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(uint64(i)<<32/uint64(n))))
	}
	if i == n-1 {
		return span{bound(i), ""}
	}
	return span{bound(i), bound(i + 1)}
}

// span turns a key condition into a range: equality on the hash attribute, and at most one restriction of the sort attribute.
func (k keySchema) span(terms []expr.KeyTerm) (span, error) {
	var hash, sort *expr.KeyTerm
	for i := range terms {
		switch t := &terms[i]; {
		case t.Attribute == k[0].name:
			hash = t
		case len(k) > 1 && t.Attribute == k[1].name:
			sort = t
		default:
			return span{}, invalid("Query condition missed key schema element: %s is not a key attribute here", t.Attribute)
		}
	}
	if hash == nil {
		return span{}, invalid("Query condition missed key schema element: %s", k[0].name)
	}
	if hash.Operator != expr.KeyEqual {
		return span{}, invalid("Query key condition not supported: %s must be compared with =", k[0].name)
	}
	if err := k.checkTerm(0, hash); err != nil {
		return span{}, err
	}
	base := partition(hash.Value)
	if sort == nil {
		return span{string(base), after(string(base))}, nil
	}
	if err := k.checkTerm(1, sort); err != nil {
		return span{}, err
	}
	return sortSpan(base, sort), nil
}

// checkTerm refuses values that the key attribute cannot have.
func (k keySchema) checkTerm(i int, t *expr.KeyTerm) error {
	a := k[i]
	for _, v := range []attr.Value{t.Value, t.High} {
		if v == nil {
			continue
		}
		if v.Kind() != a.kind {
			return invalidParameter("Condition parameter type does not match schema type: %s is of type %s", a.name, a.kind)
		}
		if isEmpty(v) {
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", a.name)
		}
		if limit, exceeded := tooLong(i, v); exceeded {
			return invalidParameter("Size of key attribute %s has exceeded the maximum size limit of %d bytes", a.name, limit)
		}
	}
	if t.Operator == expr.KeyBeginsWith && a.kind == attr.KindNumber {
		return invalidParameter("begins_with is not supported for %s, which is of type N", a.name)
	}
	return nil
}

// sortSpan is the range within a partition that a sort key restriction leaves.
func sortSpan(base []byte, t *expr.KeyTerm) span {
	whole := span{string(base), after(string(base))}
	position := func(v attr.Value) string { return string(attr.AppendKey([]byte(string(base)), v)) }
	at := position(t.Value)
	switch t.Operator {
	case expr.KeyLess:
		return span{whole.from, at}
	case expr.KeyLessOrEqual:
		return span{whole.from, after(at)}
	case expr.KeyGreater:
		return span{after(at), whole.to}
	case expr.KeyGreaterOrEqual:
		return span{at, whole.to}
	case expr.KeyBetween:
		return span{at, after(position(t.High))}
	case expr.KeyBeginsWith:
		prefix := string(attr.AppendKeyPrefix([]byte(string(base)), t.Value))
		return span{prefix, after(prefix)}
	}
	return span{at, after(at)}
}
