package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
)

func hashes(proof []digest) []tlog.Hash {
	var found []tlog.Hash
	for _, hash := range proof {
		found = append(found, tlog.Hash(hash))
	}
	return found
}

func slicesOf(proof []digest) [][]byte {
	var found [][]byte
	for _, hash := range proof {
		found = append(found, hash[:])
	}
	return found
}

// pastPower is a size at which every path of a tree of `size` leaves is longer. Not any other size
// will do: a proof alone says nothing of how many leaves there are below its hashes, which is why a
// checkpoint signs the size with the root.
func pastPower(size int64) int64 {
	power := int64(1)
	for power < size {
		power *= 2
	}
	return power + 1
}

// changed is a copy of a proof with one bit of each of its hashes another, one after the other.
func changed(proof []digest) [][]digest {
	var found [][]digest
	for at := range proof {
		copied := slices.Clone(proof)
		copied[at][at%len(copied[at])] ^= 1
		found = append(found, copied)
	}
	return found
}

// proofTamperings change nothing but the hashes of a proof, in none, one or more ways.
var proofTamperings = []struct {
	name   string
	change func(proof []digest) [][]digest
}{
	{"a changed hash", changed},
	{"a proof cut at its end", func(proof []digest) [][]digest {
		if len(proof) == 0 {
			return nil
		}
		return [][]digest{proof[:len(proof)-1]}
	}},
	{"a proof cut at its start", func(proof []digest) [][]digest {
		if len(proof) == 0 {
			return nil
		}
		return [][]digest{proof[1:]}
	}},
	{"a longer proof", func(proof []digest) [][]digest {
		return [][]digest{append(slices.Clone(proof), digest{})}
	}},
	{"a proof with a hash before it", func(proof []digest) [][]digest {
		return [][]digest{append([]digest{{}}, proof...)}
	}},
	{"a proof in another order", func(proof []digest) [][]digest {
		if len(proof) < 2 {
			return nil
		}
		copied := slices.Clone(proof)
		slices.Reverse(copied)
		return [][]digest{copied}
	}},
}

// forEach counts what a check says of each of these, up to the first error.
func forEach[T any](all []T, what string, check func(T) (int, error)) (int, error) {
	sum := 0
	for at, each := range all {
		times, err := check(each)
		if err != nil {
			return sum, fmt.Errorf("%s %d: %w", what, at, err)
		}
		sum += times
	}
	return sum, nil
}

var inclusionVerifiers = []struct {
	name   string
	verify func(inclusion) error
}{
	{"tlog.CheckRecord", func(c inclusion) error {
		leaf := tlog.RecordHash(c.Entry)
		return tlog.CheckRecord(hashes(c.Proof), c.Size, tlog.Hash(c.Root), c.Index, leaf)
	}},
	{"proof.VerifyInclusion", func(c inclusion) error {
		hasher := rfc6962.DefaultHasher
		leaf, path := hasher.HashLeaf(c.Entry), slicesOf(c.Proof)
		return proof.VerifyInclusion(hasher, uint64(c.Index), uint64(c.Size), leaf, path, c.Root[:])
	}},
}

// inclusionTamperings make other claims of one, none if there is no such one.
var inclusionTamperings = []struct {
	name   string
	change func(inclusion) []inclusion
}{
	{"another record", func(c inclusion) []inclusion {
		c.Entry = slices.Clone(c.Entry)
		c.Entry[len(c.Entry)-1] ^= 1
		return []inclusion{c}
	}},
	{"a longer record", func(c inclusion) []inclusion {
		c.Entry = append(slices.Clone(c.Entry), 0)
		return []inclusion{c}
	}},
	{"another index", func(c inclusion) []inclusion {
		var found []inclusion
		for _, index := range []int64{c.Index - 1, c.Index + 1, 0, c.Size - 1} {
			if other := c; index >= 0 && index < c.Size && index != c.Index {
				other.Index = index
				found = append(found, other)
			}
		}
		return found
	}},
	{"an index behind the last", func(c inclusion) []inclusion {
		c.Index = c.Size
		return []inclusion{c}
	}},
	{"another size", func(c inclusion) []inclusion {
		c.Size = pastPower(c.Size)
		return []inclusion{c}
	}},
	{"another root", func(c inclusion) []inclusion {
		c.Root[31] ^= 1
		return []inclusion{c}
	}},
}

func inclusionChecks() []check {
	var checks []check
	for _, verifier := range inclusionVerifiers {
		refuses := func(name string, change func(inclusion) []inclusion) {
			checks = append(checks, check{verifier.name + " refuses " + name,
				func(log *exported) (int, error) {
					return forEach(log.Inclusions, "inclusion", func(c inclusion) (int, error) {
						return forEach(change(c), name, func(c inclusion) (int, error) {
							return 1, expectRefused(fmt.Sprint(c.Index, " of ", c.Size), verifier.verify(c))
						})
					})
				}})
		}
		checks = append(checks, check{verifier.name + " accepts each proof",
			func(log *exported) (int, error) {
				return forEach(log.Inclusions, "inclusion", func(c inclusion) (int, error) {
					return 1, verifier.verify(c)
				})
			}})
		for _, each := range inclusionTamperings {
			refuses(each.name, each.change)
		}
		for _, each := range proofTamperings {
			refuses(each.name, func(c inclusion) []inclusion {
				var found []inclusion
				for _, proof := range each.change(c.Proof) {
					c.Proof = proof
					found = append(found, c)
				}
				return found
			})
		}
	}
	return append(checks, check{"each proof file holds", proofFilesHold})
}

var growthVerifiers = []struct {
	name   string
	verify func(growth) error
}{
	{"tlog.CheckTree", func(g growth) error {
		older, newer := tlog.Hash(g.OldRoot), tlog.Hash(g.NewRoot)
		return tlog.CheckTree(hashes(g.Proof), g.New, newer, g.Old, older)
	}},
	{"proof.VerifyConsistency", func(g growth) error {
		older, newer := g.OldRoot[:], g.NewRoot[:]
		return proof.VerifyConsistency(
			rfc6962.DefaultHasher, uint64(g.Old), uint64(g.New), slicesOf(g.Proof), older, newer)
	}},
}

var growthTamperings = []struct {
	name   string
	change func(growth) []growth
}{
	{"another old root", func(g growth) []growth {
		g.OldRoot[0] ^= 1
		return []growth{g}
	}},
	{"another new root", func(g growth) []growth {
		g.NewRoot[0] ^= 1
		return []growth{g}
	}},
	{"roots the other way round", func(g growth) []growth {
		if g.OldRoot == g.NewRoot {
			return nil
		}
		g.OldRoot, g.NewRoot = g.NewRoot, g.OldRoot
		return []growth{g}
	}},
	{"sizes the other way round", func(g growth) []growth {
		if g.Old == g.New {
			return nil
		}
		g.Old, g.New = g.New, g.Old
		return []growth{g}
	}},
	{"another old size", func(g growth) []growth {
		var found []growth
		for _, old := range []int64{g.Old - 1, g.Old + 1} {
			if other := g; old > 0 && old <= g.New {
				other.Old = old
				found = append(found, other)
			}
		}
		return found
	}},
	{"another new size", func(g growth) []growth {
		g.New = pastPower(g.New)
		return []growth{g}
	}},
}

func growthChecks() []check {
	var checks []check
	for _, verifier := range growthVerifiers {
		refuses := func(name string, change func(growth) []growth) {
			checks = append(checks, check{verifier.name + " refuses " + name,
				func(log *exported) (int, error) {
					return forEach(log.Growths, "growth", func(g growth) (int, error) {
						return forEach(change(g), name, func(g growth) (int, error) {
							return 1, expectRefused(fmt.Sprint(g.Old, " to ", g.New), verifier.verify(g))
						})
					})
				}})
		}
		checks = append(checks, check{verifier.name + " accepts each proof",
			func(log *exported) (int, error) {
				return forEach(log.Growths, "growth", func(g growth) (int, error) {
					return 1, verifier.verify(g)
				})
			}})
		for _, each := range growthTamperings {
			refuses(each.name, each.change)
		}
		for _, each := range proofTamperings {
			refuses(each.name, func(g growth) []growth {
				var found []growth
				for _, proof := range each.change(g.Proof) {
					g.Proof = proof
					found = append(found, g)
				}
				return found
			})
		}
	}
	return checks
}

// proofFilesHold reads each proof as c2sp.org/tlog-proof says: the reader is small, for neither
// library has one, but what its parts are worth is theirs to say.
func proofFilesHold(log *exported) (int, error) {
	return forEach(log.ProofFiles, "proof file", func(file proofFile) (int, error) {
		head, checkpoint, _ := strings.Cut(file.Text, "\n\n")
		lines := strings.Split(head, "\n")
		if len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
			return 0, fmt.Errorf("another first line: %q", head)
		}
		if lines[1] != fmt.Sprintf("index %d", file.Index) {
			return 0, fmt.Errorf("another index: %q", lines[1])
		}
		var path []tlog.Hash
		for _, line := range lines[2:] {
			hash, err := base64.StdEncoding.DecodeString(line)
			if err != nil || len(hash) != tlog.HashSize {
				return 0, errors.New("a hash that is none: " + line)
			}
			path = append(path, tlog.Hash(hash))
		}
		body, err := openNote([]byte(checkpoint), log.VKey, log.Origin)
		if err != nil {
			return 0, err
		}
		tree, err := treeOf(body, log.Origin)
		if err != nil {
			return 0, err
		}
		return 1, tlog.CheckRecord(path, tree.N, tree.Hash, file.Index, tlog.RecordHash(file.Entry))
	})
}
