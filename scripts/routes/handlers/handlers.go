package handlers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Find returns where each exported method with the signature of an http.HandlerFunc is declared in the package of folder
// dir, by method name. Tests are left out. Two types with such a method of one name are an error: a route could not be
// traced to one of them.
func Find(dir string) (map[string]token.Position, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]token.Position{}
	var errs []error
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || !servesHTTP(f.Type) {
				continue
			}
			at := files.Position(f.Name.Pos())
			if first, twice := found[f.Name.Name]; twice {
				errs = append(errs, fmt.Errorf("handler %s is declared at %s and %s", f.Name.Name, first, at))
				continue
			}
			found[f.Name.Name] = at
		}
	}
	return found, errors.Join(errs...)
}

// servesHTTP reports whether t has two parameters of the types of an http.HandlerFunc.
func servesHTTP(t *ast.FuncType) bool {
	var types []ast.Expr
	for _, field := range t.Params.List {
		for range max(1, len(field.Names)) {
			types = append(types, field.Type)
		}
	}
	if len(types) != 2 || t.Results != nil {
		return false
	}
	pointer, ok := types[1].(*ast.StarExpr)
	return ok && isSelector(types[0], "http", "ResponseWriter") && isSelector(pointer.X, "http", "Request")
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
