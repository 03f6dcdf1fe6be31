package dynamodb

import (
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

// Values of Select.
const (
	selectAll       = "ALL_ATTRIBUTES"
	selectProjected = "ALL_PROJECTED_ATTRIBUTES"
	selectCount     = "COUNT"
	selectSpecific  = "SPECIFIC_ATTRIBUTES"
)

const maxScanSegments = 1_000_000

// pageRequest is a Query or Scan.
type pageRequest struct {
	table      string
	index      *string
	limit      int // -1: none
	start      attr.Map
	consistent bool
	selecting  string // empty when absent
	capacity   bool
	filter     *expr.Condition
	projection *expr.Projection

	terms    []expr.KeyTerm // Query: the key condition
	backward bool           // Query
}

// decodePage reads the members that Query and Scan share; keyCondition is nil for a Scan.
func decodePage(in *object, keyCondition *string) (*pageRequest, error) {
	q := &pageRequest{
		table:      in.text("TableName"),
		index:      in.optionalText("IndexName"),
		limit:      in.integer("Limit", 1, 1<<31-1),
		start:      in.item("ExclusiveStartKey"),
		consistent: in.boolean("ConsistentRead", false),
		selecting:  in.enum("Select", "", selectAll, selectProjected, selectCount, selectSpecific),
		capacity:   wantsCapacity(in),
	}
	x := decodeExpressions(in)
	filter, projection := in.optionalText("FilterExpression"), in.optionalText("ProjectionExpression")
	if *in.first != nil {
		return nil, *in.first
	}
	params, err := x.params()
	if err != nil {
		return nil, err
	}
	if keyCondition != nil {
		if q.terms, err = params.KeyCondition(*keyCondition); err != nil {
			return nil, err
		}
	}
	if filter != nil {
		if q.filter, err = params.Condition("FilterExpression", *filter); err != nil {
			return nil, err
		}
	}
	if projection != nil {
		if q.projection, err = params.Projection(*projection); err != nil {
			return nil, err
		}
	}
	if err := params.Finish(); err != nil {
		return nil, err
	}
	return q, q.checkSelect()
}

func (q *pageRequest) checkSelect() error {
	switch {
	case q.selecting == selectSpecific && q.projection == nil:
		return invalid("SPECIFIC_ATTRIBUTES needs a ProjectionExpression")
	case q.selecting != "" && q.selecting != selectSpecific && q.projection != nil:
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", q.selecting)
	case q.selecting == selectProjected && q.index == nil:
		return invalidParameter("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	}
	return nil
}

func (s *Service) query(c *call) ([]byte, error) {
	in := c.in
	in.require("KeyConditionExpression")
	condition := in.optionalText("KeyConditionExpression")
	backward := !in.boolean("ScanIndexForward", true)
	q, err := decodePage(in, condition)
	if err := in.done(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	q.backward = backward
	return s.page(q, func(src source) (span, error) {
		if q.filter != nil {
			for _, name := range q.filter.Attributes() {
				if src.key().has(name) {
					return span{}, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
				}
			}
		}
		return src.key().span(q.terms)
	})
}

func (s *Service) scan(c *call) ([]byte, error) {
	in := c.in
	segment := in.integer("Segment", 0, maxScanSegments-1)
	segments := in.integer("TotalSegments", 1, maxScanSegments)
	q, err := decodePage(in, nil)
	if err := in.done(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	switch {
	case segment < 0 && segments < 0:
		segment, segments = 0, 1
	case segment < 0:
		return nil, invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case segments < 0:
		return nil, invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment >= segments:
		return nil, invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", segment, segments)
	}
	return s.page(q, func(source) (span, error) { return segmentSpan(segment, segments), nil })
}

// page reads one page within the span that within chooses for the table or index.
func (s *Service) page(q *pageRequest, within func(source) (span, error)) ([]byte, error) {
	p, err := s.collect(q, within)
	if err != nil {
		return nil, err
	}
	items := make([]attr.Map, 0, len(p.items))
	for _, item := range p.items {
		if q.filter == nil || q.filter.Eval(item) {
			items = append(items, projected(q.projection, item))
		}
	}
	var o objectWriter
	o.number("Count", len(items))
	o.number("ScannedCount", len(p.items))
	if q.selecting != selectCount {
		o.items("Items", items)
	}
	o.optionalItem("LastEvaluatedKey", p.last)
	if q.capacity {
		o.value("ConsumedCapacity", consumedCapacity{q.table, readUnits(p.bytes, q.consistent)})
	}
	return o.bytes(), nil
}

// source is the table or index that a page is read from.
type source struct {
	table *table
	index *index // nil: the table itself
}

func (src source) key() keySchema {
	if src.index != nil {
		return src.index.spec.key
	}
	return src.table.spec.key
}

// item is what the source carries of a record, and its size.
func (src source) item(r *record) (attr.Map, int) {
	if src.index == nil || src.index.spec.projection == projectAll {
		return r.item, r.size
	}
	item := src.table.spec.project(src.index.spec, r.item)
	return item, attr.ItemSize(item)
}

// cursor is the key that continues after an item: the table's key, and before it that of the index.
func (src source) cursor(item attr.Map) attr.Map {
	out := src.table.spec.key.pick(item)
	for _, a := range src.key() {
		out[a.name] = item[a.name]
	}
	return out
}

// source finds the table or index of a request and refuses what it cannot answer. The caller holds the lock.
func (s *Service) source(q *pageRequest) (source, error) {
	t, err := s.table(q.table)
	if err != nil {
		return source{}, err
	}
	src := source{table: t}
	if q.index == nil {
		return src, nil
	}
	if src.index = t.index(*q.index); src.index == nil {
		return src, invalid("The table does not have the specified index: %s", *q.index)
	}
	ix := src.index.spec
	if q.consistent {
		return src, invalid("Consistent reads are not supported on global secondary indexes")
	}
	if q.selecting == selectAll && ix.projection != projectAll {
		return src, invalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", ix.name)
	}
	if q.projection != nil {
		for _, name := range q.projection.Attributes() {
			if !t.spec.projects(ix, name) {
				return src, invalidParameter("Global secondary index %s does not project [%s]", ix.name, name)
			}
		}
	}
	return src, nil
}

// startPosition is the position of ExclusiveStartKey, which need not exist but must lie within the span.
func (src source) startPosition(start attr.Map, in span) (string, error) {
	bad := func(why string) (string, error) {
		return "", invalid("The provided starting key is invalid: %s", why)
	}
	want := slices.Concat(src.table.spec.key, src.key())
	names := map[string]bool{}
	for _, a := range want {
		names[a.name] = true
		if v := start[a.name]; v == nil || v.Kind() != a.kind || isEmpty(v) {
			return bad("the key attributes of the table and index must be there with their types")
		}
	}
	if len(start) != len(names) {
		return bad("it has attributes that are not part of the key")
	}
	at := src.table.spec.key.encode(start)
	if src.index != nil {
		at = src.table.spec.encodeIndex(src.index.spec, start)
	}
	if !in.contains(at) {
		return bad("The provided starting key is outside query boundaries based on provided conditions")
	}
	return at, nil
}
