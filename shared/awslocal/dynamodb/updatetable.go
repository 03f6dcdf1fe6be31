package dynamodb

import (
	"maps"
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
)

// indexCreation is the one thing that UpdateTable does here.
type indexCreation struct {
	table string
	index indexSpec
	kinds map[string]attr.Kind // AttributeDefinitions of the request
}

// updateTable adds one index and fills it with the items that are there. Like every change of a table it is decided alone, so
// each write comes either before it and is found by the fill, or after it and goes into the index itself. The answer
// describes the index as ACTIVE. A second call with the same index is refused: the index exists.
func (s *Service) updateTable(c *call) ([]byte, error) {
	u, err := decodeIndexCreation(c.in)
	if err != nil {
		return nil, err
	}
	var described tableDescription
	err = s.commitAlone(func(v *view) error {
		t, err := v.table(u.table)
		if err != nil {
			return err
		}
		if err := u.check(t.spec); err != nil {
			return err
		}
		// The table itself changes once the record is durable; a copy shows what it will be.
		next := *t
		next.addIndex(u.index)
		described = next.describe("ACTIVE")
		v.stage(addIndex{u.table, u.index})
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.value("TableDescription", described)
	return o.bytes(), nil
}

// decodeIndexCreation reads an UpdateTable request. Whatever else UpdateTable can do is a member that nobody reads, and so is
// refused by its name, before anything that is missing is.
func decodeIndexCreation(in *object) (indexCreation, error) {
	u := indexCreation{table: in.text("TableName"), kinds: decodeAttributeDefinitions(in)}
	updates := in.list("GlobalSecondaryIndexUpdates")
	for _, update := range updates {
		create := update.object("Create")
		in.fail(update.done())
		if create == nil {
			update.require("Create")
			continue
		}
		u.index = decodeIndexSpec(create, u.kinds, map[string]bool{})
	}
	if err := in.done(); err != nil {
		return u, err
	}
	switch len(updates) {
	case 0:
		return u, invalid("UpdateTable is implemented to create an index: GlobalSecondaryIndexUpdates must have one element")
	case 1:
		return u, u.index.check()
	}
	return u, &apiError{
		code:    codeLimit,
		message: "Only 1 index can be created at a time: GlobalSecondaryIndexUpdates must have one element",
	}
}

// check refuses an index that the table cannot get.
func (u indexCreation) check(spec tableSpec) error {
	existing := spec.attributeKinds()
	for _, name := range slices.Sorted(maps.Keys(u.kinds)) {
		kind, known := existing[name]
		switch {
		case known && kind != u.kinds[name]:
			return invalidParameter("The key attribute %s has the type %s and cannot be defined as %s", name, kind, u.kinds[name])
		case !known && !u.index.key.has(name):
			return invalidParameter("Some AttributeDefinitions are not used: [%s]", name)
		}
	}
	spec.indexes = append(slices.Clip(spec.indexes), u.index)
	return spec.check()
}
