package dynamodb

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"bailing/shared/awslocal/dynamodb/attr"
)

const (
	maxIndexes      = 20
	maxKeyNameBytes = 255
	maxListedTables = 100
	arnPrefix       = "arn:aws:dynamodb:us-east-1:000000000000:table/"
)

var resourceName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func (s *Service) createTable(c *call) ([]byte, error) {
	spec, err := decodeTableSpec(c.in)
	if err != nil {
		return nil, err
	}
	var described tableDescription
	err = s.commitAlone(func(v *view) error {
		if v.state.tables[spec.name] != nil {
			return &apiError{code: codeTableInUse, message: "Table already exists: " + spec.name}
		}
		spec.created = v.now.Truncate(time.Millisecond)
		described = newTable(spec).describe("ACTIVE")
		v.stage(createTable{spec})
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.value("TableDescription", described)
	return o.bytes(), nil
}

// decodeTableSpec reads a CreateTable request.
func decodeTableSpec(in *object) (tableSpec, error) {
	spec := tableSpec{name: in.text("TableName"), protected: in.boolean("DeletionProtectionEnabled", false)}
	if in.enum("BillingMode", "PROVISIONED", "PAY_PER_REQUEST") != "PAY_PER_REQUEST" {
		in.fail(invalid("BillingMode PROVISIONED is not implemented; use PAY_PER_REQUEST"))
	}
	kinds := decodeAttributeDefinitions(in)
	used := map[string]bool{}
	spec.key = decodeKeySchema(in, kinds, used)
	for _, ix := range in.list("GlobalSecondaryIndexes") {
		spec.indexes = append(spec.indexes, decodeIndexSpec(ix, kinds, used))
	}
	if len(used) != len(kinds) {
		in.fail(invalidParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"))
	}
	if err := in.done(); err != nil {
		return spec, err
	}
	return spec, spec.check()
}

// decodeAttributeDefinitions reads the types of key attributes by their names.
func decodeAttributeDefinitions(in *object) map[string]attr.Kind {
	kinds := map[string]attr.Kind{}
	for _, a := range in.list("AttributeDefinitions") {
		name, kind := a.text("AttributeName"), attr.Kind(a.enum("AttributeType", "", "S", "N", "B"))
		if _, dup := kinds[name]; dup {
			in.fail(invalidParameter("Duplicate AttributeName in AttributeDefinitions: %s", name))
		}
		kinds[name] = kind
		in.fail(a.done())
	}
	return kinds
}

func decodeKeySchema(in *object, kinds map[string]attr.Kind, used map[string]bool) keySchema {
	in.require("KeySchema")
	var key keySchema
	for i, k := range in.list("KeySchema") {
		name := k.text("AttributeName")
		want := []string{"HASH", "RANGE"}[min(i, 1)]
		if got := k.enum("KeyType", "", "HASH", "RANGE"); got != want {
			in.fail(invalidParameter("KeySchema must be a HASH attribute, then at most one RANGE attribute"))
		}
		kind, defined := kinds[name]
		if !defined {
			in.fail(invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: [%s]", name))
		}
		used[name] = true
		key = append(key, keyAttribute{name, kind})
		in.fail(k.done())
	}
	return key
}

func decodeIndexSpec(in *object, kinds map[string]attr.Kind, used map[string]bool) indexSpec {
	ix := indexSpec{name: in.text("IndexName"), key: decodeKeySchema(in, kinds, used)}
	in.require("Projection")
	if p := in.object("Projection"); p != nil {
		ix.projection = p.enum("ProjectionType", "", projectAll, projectKeysOnly, projectInclude)
		if names, ok := p.take("NonKeyAttributes"); ok {
			list, _ := names.([]any)
			for _, n := range list {
				name, _ := n.(string)
				ix.include = append(ix.include, name)
			}
			if len(ix.include) == 0 || slices.Contains(ix.include, "") {
				in.fail(invalidParameter("NonKeyAttributes must be a list of attribute names"))
			}
		}
		in.fail(p.done())
	}
	in.fail(in.done())
	return ix
}

// check refuses a table description that breaks a rule, whatever it was read from.
func (spec *tableSpec) check() error {
	if !resourceName.MatchString(spec.name) {
		return invalid("TableName must be 3 to 255 characters out of a-z, A-Z, 0-9, '_', '-' and '.': %q", spec.name)
	}
	if err := spec.key.check(); err != nil {
		return err
	}
	if len(spec.indexes) > maxIndexes {
		return invalidParameter("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxIndexes)
	}
	names := map[string]bool{}
	for _, ix := range spec.indexes {
		if names[ix.name] {
			return invalidParameter("Duplicate index name: %s", ix.name)
		}
		names[ix.name] = true
		if err := ix.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses what is wrong with an index whatever its table.
func (ix *indexSpec) check() error {
	if !resourceName.MatchString(ix.name) {
		return invalid("IndexName must be 3 to 255 characters out of a-z, A-Z, 0-9, '_', '-' and '.': %q", ix.name)
	}
	if err := ix.key.check(); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{projectAll, projectKeysOnly, projectInclude}, ix.projection):
		return invalidParameter("Unknown ProjectionType: %q", ix.projection)
	case (ix.projection == projectInclude) != (ix.include != nil):
		return invalidParameter("NonKeyAttributes must be specified exactly when ProjectionType is INCLUDE. IndexName: %s", ix.name)
	}
	return nil
}

func (k keySchema) check() error {
	if len(k) < 1 || len(k) > 2 {
		return invalidParameter("KeySchema must have one or two attributes")
	}
	if len(k) == 2 && k[0].name == k[1].name {
		return invalidParameter("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	for _, a := range k {
		if len(a.name) > maxKeyNameBytes || a.name == "" {
			return invalidParameter("The name of a key attribute must have 1 to %d bytes", maxKeyNameBytes)
		}
		if a.kind != attr.KindString && a.kind != attr.KindNumber && a.kind != attr.KindBinary {
			return invalidParameter("Key attribute %s must have the type S, N or B", a.name)
		}
	}
	return nil
}

// named reads a request whose only member is TableName.
func named(in *object) (string, error) {
	name := in.text("TableName")
	return name, in.done()
}

// table finds a table for reading; the caller holds the lock.
func (s *Service) table(name string) (*table, error) {
	t := s.state.tables[name]
	if t == nil {
		return nil, tableNotFound(name)
	}
	return t, nil
}

func (s *Service) describeTable(c *call) ([]byte, error) {
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
	var o objectWriter
	o.value("Table", t.describe("ACTIVE"))
	return o.bytes(), nil
}

func (s *Service) listTables(c *call) ([]byte, error) {
	after := c.in.optionalText("ExclusiveStartTableName")
	limit := c.in.integer("Limit", 1, maxListedTables)
	if err := c.in.done(); err != nil {
		return nil, err
	}
	if limit < 0 {
		limit = maxListedTables
	}
	s.mu.RLock()
	names := slices.Sorted(maps.Keys(s.state.tables))
	s.mu.RUnlock()
	if after != nil {
		at, found := slices.BinarySearch(names, *after)
		if found {
			at++
		}
		names = names[at:]
	}
	var o objectWriter
	if len(names) > limit {
		names = names[:limit]
		o.text("LastEvaluatedTableName", names[limit-1])
	}
	o.list("TableNames", len(names), func(b []byte, i int) []byte { return attr.AppendJSONString(b, names[i]) })
	return o.bytes(), nil
}

func (s *Service) deleteTable(c *call) ([]byte, error) {
	name, err := named(c.in)
	if err != nil {
		return nil, err
	}
	var described tableDescription
	err = s.commitAlone(func(v *view) error {
		t, err := v.table(name)
		if err != nil {
			return err
		}
		if t.spec.protected {
			return invalid("Resource cannot be deleted as it is currently protected against deletion: %s", name)
		}
		described = t.describe("DELETING")
		v.stage(dropTable{name})
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.value("TableDescription", described)
	return o.bytes(), nil
}

type (
	tableDescription struct {
		AttributeDefinitions      []attributeDefinition
		BillingModeSummary        billingModeSummary
		CreationDateTime          float64 // seconds since 1970
		DeletionProtectionEnabled bool
		GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
		ItemCount                 int
		KeySchema                 []keySchemaElement
		ProvisionedThroughput     provisionedThroughput
		TableArn                  string
		TableId                   string
		TableName                 string
		TableSizeBytes            int
		TableStatus               string
	}
	indexDescription struct {
		IndexArn              string
		IndexName             string
		IndexSizeBytes        int
		IndexStatus           string
		ItemCount             int
		KeySchema             []keySchemaElement
		Projection            projectionDescription
		ProvisionedThroughput provisionedThroughput
	}
	attributeDefinition   struct{ AttributeName, AttributeType string }
	keySchemaElement      struct{ AttributeName, KeyType string }
	billingModeSummary    struct{ BillingMode string }
	projectionDescription struct {
		NonKeyAttributes []string `json:",omitempty"`
		ProjectionType   string
	}
	// provisionedThroughput is zero for tables that are paid per request.
	provisionedThroughput struct{ NumberOfDecreasesToday, ReadCapacityUnits, WriteCapacityUnits int }
)

func (t *table) describe(status string) tableDescription {
	spec := &t.spec
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", spec.name, spec.created.UnixMilli()))
	d := tableDescription{
		BillingModeSummary:        billingModeSummary{"PAY_PER_REQUEST"},
		CreationDateTime:          float64(spec.created.UnixMilli()) / 1000,
		DeletionProtectionEnabled: spec.protected,
		ItemCount:                 t.items.Len(),
		KeySchema:                 spec.key.describe(),
		TableArn:                  arnPrefix + spec.name,
		TableId:                   fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		TableName:                 spec.name,
		TableSizeBytes:            t.bytes,
		TableStatus:               status,
	}
	for _, ix := range t.indexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
			IndexArn:    arnPrefix + spec.name + "/index/" + ix.spec.name,
			IndexName:   ix.spec.name,
			IndexStatus: status,
			ItemCount:   ix.items.Len(),
			KeySchema:   ix.spec.key.describe(),
			Projection:  projectionDescription{ix.spec.include, ix.spec.projection},
		})
	}
	kinds := spec.attributeKinds()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{name, string(kinds[name])})
	}
	return d
}

func (k keySchema) describe() []keySchemaElement {
	out := make([]keySchemaElement, len(k))
	for i, a := range k {
		out[i] = keySchemaElement{a.name, []string{"HASH", "RANGE"}[i]}
	}
	return out
}
