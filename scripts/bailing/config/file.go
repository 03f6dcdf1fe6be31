package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/shared/canonical"
)

// Version is the form of files that this command reads and writes.
const Version = 1

// maxFile bounds a file, and each specification that it refers to, in bytes.
const maxFile = 8 << 20

// File is what a file asks for.
type File struct {
	Items []Item  // kinds in the order of [Kinds], objects of one as they came
	Kinds []*Kind // those that the file speaks of, with objects or without
}

// Item is one object of a file.
type Item struct {
	Kind   *Kind
	Name   string
	Object Object // without the secret and the specification
	// SecretEnv names the environment variable with the secret, "" when the file has no reference.
	SecretEnv string
	Spec      []byte // text of the specification, nil for none
}

func (i *Item) String() string { return i.Kind.Name + " " + i.Name }

// ReadFile reads a file, or standard input for "-", and what it refers to.
func ReadFile(e *cli.Env, name string) (*File, error) {
	src, err := readAll(e, name)
	if err != nil {
		return nil, err
	}
	f, err := parseFile(src, func(ref string) ([]byte, error) {
		if !filepath.IsAbs(ref) && name != "-" {
			ref = filepath.Join(filepath.Dir(name), ref)
		}
		return readAll(e, ref)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func readAll(e *cli.Env, name string) ([]byte, error) {
	var r io.Reader = e.Stdin
	if name != "-" {
		f, err := e.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return b, nil
}

// parseFile reads the text of a file; open reads a file that it refers to.
func parseFile(src []byte, open func(string) ([]byte, error)) (*File, error) {
	v, err := parse(src)
	if err != nil {
		return nil, err
	}
	if v.Kind() != canonical.Object {
		return nil, errors.New("it is no object with version, targets, credentials, tool-providers, routes and clients")
	}
	doc := objectOf(v)
	if n, ok := doc.get("version").Int64(); !ok || n != Version {
		return nil, fmt.Errorf("version must be %d", Version)
	}
	doc.drop("version")
	for _, name := range doc.names {
		if k := KindNamed(name); k == nil || k.Path != name {
			return nil, fmt.Errorf("%s is no kind of objects: targets, credentials, tool-providers, routes and clients are", name)
		}
	}
	f := &File{}
	for _, k := range Kinds {
		list, there := doc.values[k.Path]
		if !there {
			continue
		}
		f.Kinds = append(f.Kinds, k)
		if kind := list.Kind(); kind != canonical.Array && kind != canonical.Null {
			return nil, fmt.Errorf("%s must be a list", k.Path)
		}
		seen := map[string]bool{}
		for i, element := range list.Elems() {
			item, err := k.item(element, open)
			if err == nil && seen[item.Name] {
				err = fmt.Errorf("%s is there twice", item.Name)
			}
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", k.Path, i, err)
			}
			seen[item.Name] = true
			f.Items = append(f.Items, item)
		}
	}
	return f, nil
}

// item reads one object of a list.
func (k *Kind) item(v canonical.Value, open func(string) ([]byte, error)) (Item, error) {
	if v.Kind() != canonical.Object {
		return Item{}, errors.New("must be an object")
	}
	o := objectOf(v)
	item := Item{Kind: k, Name: o.text(k.Key), Object: o}
	if !k.valid(item.Name) {
		return item, fmt.Errorf("%s must be %s", k.Key, k.rule)
	}
	for _, member := range []string{"token", "rotate_token", "expected_revision"} {
		if _, there := o.values[member]; there {
			return item, fmt.Errorf("%s: %s has no place in a file", item.Name, member)
		}
	}
	var err error
	if k.Secret != "" {
		if item.SecretEnv, err = secretReference(o.get(k.Secret)); err != nil {
			return item, fmt.Errorf("%s.%s: %w", item.Name, k.Secret, err)
		}
		item.Object.drop(k.Secret)
	}
	if k.Path == "tool-providers" {
		if item.Spec, err = specification(o.get("spec_json"), open); err != nil {
			return item, fmt.Errorf("%s.spec_json: %w", item.Name, err)
		}
		item.Object.drop("spec_json")
	}
	return item, nil
}

// secretReference reads {env: NAME}. The secret itself is refused: files are kept and shown.
func secretReference(v canonical.Value) (string, error) {
	if empty(v) || v.Kind() == canonical.Invalid {
		return "", nil
	}
	env, _ := v.Get("env")
	name := env.Text()
	if v.Kind() != canonical.Object || v.Len() != 1 || name == "" || strings.ContainsAny(name, "= ") {
		return "", errors.New("a secret is never in a file; refer to an environment variable: {env: NAME}")
	}
	return name, nil
}

// specification reads a text, a document, or {file: NAME}.
func specification(v canonical.Value, open func(string) ([]byte, error)) ([]byte, error) {
	switch {
	case v.Kind() == canonical.Invalid || empty(v):
		return nil, nil
	case v.Kind() == canonical.String:
		return []byte(v.Text()), nil
	case v.Kind() != canonical.Object:
		return nil, errors.New("must be a text, a document or {file: NAME}")
	case reference(v):
		file, _ := v.Get("file")
		return open(cmp.Or(file.Text(), "."))
	}
	return v.AppendCompact(nil), nil
}
