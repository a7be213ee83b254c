package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
)

// Levels of a tree in one tile, and leaves under one.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// pathOf is where a tile is: tlog's paths name the tiles' height, those of C2SP don't.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
}

// bundleOf is where the entries of a tile of leaves are.
func bundleOf(tile tlog.Tile) string {
	return strings.Replace(pathOf(tile), "tile/0/", "tile/entries/", 1)
}

// tileFiles reads tiles from a folder, with what may have been changed in between.
type tileFiles struct {
	folder string
	change func(path string, data []byte) []byte
}

func (files tileFiles) Height() int { return tileHeight }

func (files tileFiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		data, err := files.read(pathOf(tile))
		if err != nil {
			return nil, err
		}
		// What the interface asks of its readers.
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes", pathOf(tile), len(data))
		}
		found = append(found, data)
	}
	return found, nil
}

func (files tileFiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (files tileFiles) read(path string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(files.folder, filepath.FromSlash(path)))
	if err == nil && files.change != nil {
		data = files.change(path, data)
	}
	return data, err
}

// reader gives hashes of the log's tree, and only such as its root vouches for.
func (log *exported) reader(change func(string, []byte) []byte) tlog.HashReader {
	return tlog.TileHashReader(log.tree(), tileFiles{log.tiles, change})
}

func (log *exported) hashTiles() []tlog.Tile {
	return tlog.NewTiles(tileHeight, 0, log.Size)
}

// entryTiles are the tiles of leaves whose entries are all kept.
func (log *exported) entryTiles() []tlog.Tile {
	return slices.DeleteFunc(log.hashTiles(), func(tile tlog.Tile) bool {
		return tile.L > 0 || tile.N*tileWidth < log.FirstKept
	})
}

// hashesIn are the hashes in a tile, read one and all through its parents.
func hashesIn(tile tlog.Tile, reader tlog.HashReader) ([]tlog.Hash, error) {
	data, err := tlog.ReadTileData(tile, reader)
	if err != nil {
		return nil, err
	}
	var found []tlog.Hash
	for hash := range slices.Chunk(data, tlog.HashSize) {
		found = append(found, tlog.Hash(hash))
	}
	return found, nil
}

func tileChecks() []check {
	return []check{
		{"the folder has the files of tlog.NewTiles and no more", filesAreThose},
		{"tlog.TreeHash of the tiles is the root", func(log *exported) (int, error) {
			return 1, log.expectRoot(log.Size, tlog.Hash(log.Root))
		}},
		{"tlog.TreeHash of the tiles is each older root", olderRootsAreThose},
		{"tlog.TileHashReader accepts each tile", func(log *exported) (int, error) {
			return forEach(log.hashTiles(), "tile", func(tile tlog.Tile) (int, error) {
				_, err := hashesIn(tile, log.reader(nil))
				return 1, err
			})
		}},
		{"compact.Range over the tiles gives the root", rangeGivesRoot},
		{"tlog.TileHashReader refuses a changed byte of each tile", refusesChangedTiles},
		{"tlog.TileHashReader refuses a cut tile", refusesCutTiles},
		{"tlog.TileHashReader refuses another root", func(log *exported) (int, error) {
			tree := log.tree()
			tree.Hash[0] ^= 1
			reader := tlog.TileHashReader(tree, tileFiles{folder: log.tiles})
			_, err := tlog.TreeHash(log.Size, reader)
			return 1, expectRefused("another root", err)
		}},
		{"each entry of the bundles is a leaf", func(log *exported) (int, error) {
			return forEach(log.entryTiles(), "bundle", func(tile tlog.Tile) (int, error) {
				return log.bundle(tile, nil)
			})
		}},
		{"each given entry is that of its bundle", entriesAreThose},
		{"a changed byte of each bundle is no leaf", refusesChangedBundles},
		{"a cut bundle is refused", refusesCutBundles},
		{"tlog.ProveRecord makes the same proofs", recordsAreProvenSo},
		{"tlog.ProveTree makes the same proofs", treesAreProvenSo},
	}
}

func (log *exported) expectRoot(size int64, root tlog.Hash) error {
	found, err := tlog.TreeHash(size, log.reader(nil))
	if err == nil && found != root {
		err = fmt.Errorf("the tiles give %v at %d, the log says %v", found, size, root)
	}
	return err
}

func filesAreThose(log *exported) (int, error) {
	var expected, found []string
	for _, tile := range log.hashTiles() {
		expected = append(expected, pathOf(tile))
	}
	for _, tile := range log.entryTiles() {
		expected = append(expected, bundleOf(tile))
	}
	root := os.DirFS(log.tiles)
	err := fs.WalkDir(root, "tile", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(expected)
	slices.Sort(found)
	if !slices.Equal(expected, found) {
		return 0, fmt.Errorf("there are %q, there should be %q", found, expected)
	}
	return len(found), nil
}

func olderRootsAreThose(log *exported) (int, error) {
	times, err := forEach(log.Inclusions, "inclusion", func(c inclusion) (int, error) {
		return 1, log.expectRoot(c.Size, tlog.Hash(c.Root))
	})
	if err != nil {
		return times, err
	}
	more, err := forEach(log.Growths, "growth", func(g growth) (int, error) {
		return 2, errors.Join(
			log.expectRoot(g.Old, tlog.Hash(g.OldRoot)), log.expectRoot(g.New, tlog.Hash(g.NewRoot)))
	})
	return times + more, err
}

func rangeGivesRoot(log *exported) (int, error) {
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	leaves := factory.NewEmptyRange(0)
	files := tileFiles{folder: log.tiles}
	for _, tile := range log.hashTiles() {
		if tile.L > 0 {
			continue
		}
		data, err := files.read(pathOf(tile))
		if err != nil {
			return 0, err
		}
		for hash := range slices.Chunk(data, tlog.HashSize) {
			if err := leaves.Append(hash, nil); err != nil {
				return 0, err
			}
		}
	}
	root, err := leaves.GetRootHash(nil)
	if err == nil && (leaves.End() != uint64(log.Size) || !bytes.Equal(root, log.Root[:])) {
		err = fmt.Errorf("%d leaves give %x", leaves.End(), root)
	}
	return int(leaves.End()), err
}

// only changes the file of this path.
func only(path string, change func([]byte) []byte) func(string, []byte) []byte {
	return func(other string, data []byte) []byte {
		if other == path {
			return change(data)
		}
		return data
	}
}

// flip changes one bit of a byte.
func flip(at int) func([]byte) []byte {
	return func(data []byte) []byte {
		changed := bytes.Clone(data)
		changed[at] ^= 1
		return changed
	}
}

// cutBy drops bytes at the end.
func cutBy(length int) func([]byte) []byte {
	return func(data []byte) []byte { return data[:len(data)-length] }
}

func refusesChangedTiles(log *exported) (int, error) {
	return forEach(log.hashTiles(), "tile", func(tile tlog.Tile) (int, error) {
		path := pathOf(tile)
		for _, at := range []int{0, tile.W * tlog.HashSize / 2, tile.W*tlog.HashSize - 1} {
			_, err := hashesIn(tile, log.reader(only(path, flip(at))))
			if err := expectRefused(fmt.Sprint(path, " byte ", at), err); err != nil {
				return 0, err
			}
		}
		return 3, nil
	})
}

func refusesCutTiles(log *exported) (int, error) {
	return forEach(log.hashTiles(), "tile", func(tile tlog.Tile) (int, error) {
		_, err := hashesIn(tile, log.reader(only(pathOf(tile), cutBy(tlog.HashSize))))
		return 1, expectRefused(pathOf(tile), err)
	})
}

// entriesIn splits a bundle: each entry is behind its length in two bytes.
func entriesIn(data []byte) ([][]byte, error) {
	var found [][]byte
	for len(data) > 0 {
		if len(data) < 2 {
			return nil, errors.New("a length is cut")
		}
		length := int(binary.BigEndian.Uint16(data))
		if data = data[2:]; len(data) < length {
			return nil, errors.New("an entry is cut")
		}
		found = append(found, data[:length])
		data = data[length:]
	}
	return found, nil
}

// bundle gives how many leaves a file of entries has, if they are those of the tile.
func (log *exported) bundle(tile tlog.Tile, change func([]byte) []byte) (int, error) {
	leaves, err := hashesIn(tile, log.reader(nil))
	if err != nil {
		return 0, err
	}
	data, err := tileFiles{folder: log.tiles}.read(bundleOf(tile))
	if err != nil {
		return 0, err
	}
	return len(leaves), expectLeaves(data, leaves, change)
}

func expectLeaves(data []byte, leaves []tlog.Hash, change func([]byte) []byte) error {
	if change != nil {
		data = change(data)
	}
	entries, err := entriesIn(data)
	if err != nil {
		return err
	}
	if len(entries) != len(leaves) {
		return fmt.Errorf("%d entries of %d leaves", len(entries), len(leaves))
	}
	for at, entry := range entries {
		if tlog.RecordHash(entry) != leaves[at] {
			return fmt.Errorf("entry %d is not the leaf", at)
		}
	}
	return nil
}

func entriesAreThose(log *exported) (int, error) {
	return forEach(log.Inclusions, "inclusion", func(c inclusion) (int, error) {
		if c.Index/tileWidth*tileWidth < log.FirstKept {
			return 0, nil
		}
		for _, tile := range log.entryTiles() {
			if tile.N != c.Index/tileWidth {
				continue
			}
			data, err := tileFiles{folder: log.tiles}.read(bundleOf(tile))
			if err != nil {
				return 0, err
			}
			entries, err := entriesIn(data)
			if err == nil && !bytes.Equal(entries[c.Index%tileWidth], c.Entry) {
				err = fmt.Errorf("the bundle has %x", entries[c.Index%tileWidth])
			}
			return 1, err
		}
		return 0, errors.New("is in no bundle")
	})
}

func refusesChangedBundles(log *exported) (int, error) {
	return forEach(log.entryTiles(), "bundle", func(tile tlog.Tile) (int, error) {
		leaves, err := hashesIn(tile, log.reader(nil))
		if err != nil {
			return 0, err
		}
		data, err := tileFiles{folder: log.tiles}.read(bundleOf(tile))
		if err != nil {
			return 0, err
		}
		// Lengths, the first bytes of entries, ones within, and the last.
		places := []int{0, 1, 2, len(data) / 3, len(data) / 2, len(data) - 1}
		for _, at := range places {
			err := expectLeaves(data, leaves, flip(at))
			if err := expectRefused(fmt.Sprint(bundleOf(tile), " byte ", at), err); err != nil {
				return 0, err
			}
		}
		return len(places), nil
	})
}

func refusesCutBundles(log *exported) (int, error) {
	return forEach(log.entryTiles(), "bundle", func(tile tlog.Tile) (int, error) {
		_, err := log.bundle(tile, cutBy(1))
		return 1, expectRefused(bundleOf(tile), err)
	})
}

func equal(ours []digest, theirs []tlog.Hash) error {
	if !slices.Equal(hashes(ours), theirs) {
		return fmt.Errorf("ours is %v, theirs %v", hashes(ours), theirs)
	}
	return nil
}

func recordsAreProvenSo(log *exported) (int, error) {
	return forEach(log.Inclusions, "inclusion", func(c inclusion) (int, error) {
		theirs, err := tlog.ProveRecord(c.Size, c.Index, log.reader(nil))
		if err != nil {
			return 0, err
		}
		return 1, equal(c.Proof, theirs)
	})
}

func treesAreProvenSo(log *exported) (int, error) {
	return forEach(log.Growths, "growth", func(g growth) (int, error) {
		theirs, err := tlog.ProveTree(g.New, g.Old, log.reader(nil))
		if err != nil {
			return 0, err
		}
		return 1, equal(g.Proof, theirs)
	})
}
