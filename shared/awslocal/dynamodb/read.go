package dynamodb

import (
	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

// projector reads ProjectionExpression with its placeholders; nil keeps items whole. It is for requests without any
// other expression.
func projector(in *object) (*expr.Projection, error) {
	source := in.optionalText("ProjectionExpression")
	names := in.texts("ExpressionAttributeNames")
	if *in.first != nil {
		return nil, *in.first
	}
	params, err := expr.NewParams(names, nil)
	if err != nil {
		return nil, err
	}
	var p *expr.Projection
	if source != nil {
		if p, err = params.Projection(*source); err != nil {
			return nil, err
		}
	}
	return p, params.Finish()
}

func projected(p *expr.Projection, item attr.Map) attr.Map {
	if p == nil || item == nil {
		return item
	}
	return p.Apply(item)
}

func (s *Service) getItem(c *call) ([]byte, error) {
	in := c.in
	in.require("Key")
	name, key := in.text("TableName"), in.item("Key")
	consistent := in.boolean("ConsistentRead", false)
	capacity := wantsCapacity(in)
	p, err := projector(in)
	if err := in.done(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	r, err := s.lookup(name, key)
	if err != nil {
		return nil, err
	}
	var o objectWriter
	size := 0
	if r != nil {
		size = r.size
		o.item("Item", projected(p, r.item))
	}
	if capacity {
		o.value("ConsumedCapacity", consumedCapacity{name, readUnits(size, consistent)})
	}
	return o.bytes(), nil
}

// lookup finds one item; nil when it does not exist.
func (s *Service) lookup(name string, key attr.Map) (*record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(name)
	if err != nil {
		return nil, err
	}
	if err := t.spec.checkKey(key); err != nil {
		return nil, err
	}
	return t.get(t.spec.key.encode(key)), nil
}
