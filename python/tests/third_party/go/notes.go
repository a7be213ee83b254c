package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// keyUnder is the vkey of the same public key under another name: a log's key is named as the log.
func keyUnder(name, vkey string) (string, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return "", errors.New("a vkey of fewer than three parts")
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(key) != 1+ed25519.PublicKeySize {
		return "", fmt.Errorf("a vkey without a key: %q", parts[2])
	}
	return note.NewEd25519VerifierKey(name, key[1:])
}

// openNote gives the text of a note that the key signed under this name.
func openNote(text []byte, vkey, name string) (string, error) {
	vkey, err := keyUnder(name, vkey)
	if err != nil {
		return "", err
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return "", err
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return "", err
	}
	return opened.Text, nil
}

// treeOf reads a checkpoint's body with Go's own reader, which wants another first line.
func treeOf(body, origin string) (tlog.Tree, error) {
	rest, ok := strings.CutPrefix(body, origin+"\n")
	if !ok {
		return tlog.Tree{}, fmt.Errorf("a checkpoint of another log: %q", body)
	}
	if strings.Count(rest, "\n") != 2 {
		return tlog.Tree{}, fmt.Errorf("a checkpoint of other than three lines: %q", body)
	}
	return tlog.ParseTree([]byte("go.sum database tree\n" + rest))
}

// expectTree is an error if a checkpoint isn't this log's, of this tree and by this key.
func (log *exported) expectTree(text []byte, vkey string) error {
	body, err := openNote(text, vkey, log.Origin)
	if err != nil {
		return err
	}
	tree, err := treeOf(body, log.Origin)
	if err == nil && tree != log.tree() {
		err = fmt.Errorf("the checkpoint says %v, the log %v", tree, log.tree())
	}
	return err
}

func noteChecks() []check {
	checks := []check{
		{"note.Open accepts the checkpoint", func(log *exported) (int, error) {
			_, err := openNote(log.checkpoint, log.VKey, log.Origin)
			return 1, err
		}},
		{"tlog.ParseTree finds size and root in it", func(log *exported) (int, error) {
			return 1, log.expectTree(log.checkpoint, log.VKey)
		}},
		{"note.Open refuses another key", func(log *exported) (int, error) {
			_, err := openNote(log.checkpoint, log.OtherVKey, log.Origin)
			return 1, expectRefused("a key of the same name", err)
		}},
		{"note.Open refuses the key under its own name", func(log *exported) (int, error) {
			name, _, _ := strings.Cut(log.VKey, "+")
			_, err := openNote(log.checkpoint, log.VKey, name)
			return 1, expectRefused(name, err)
		}},
		{"note.Open refuses another log's checkpoint", func(log *exported) (int, error) {
			_, err := openNote([]byte(log.Sibling), log.VKey, log.Origin)
			return 1, expectRefused(log.Sibling, err)
		}},
		{"note.Open refuses each changed byte of the text", refusesChangedText},
		{"note.Open refuses each changed byte of the signature", refusesChangedSignature},
	}
	for _, each := range noteTamperings {
		checks = append(checks, check{"note.Open refuses " + each.name, func(log *exported) (int, error) {
			changed := each.change(string(log.checkpoint), log)
			if changed == string(log.checkpoint) {
				return 0, errors.New("nothing was changed")
			}
			_, err := openNote([]byte(changed), log.VKey, log.Origin)
			return 1, expectRefused(changed, err)
		}})
	}
	return checks
}

var noteTamperings = []struct {
	name   string
	change func(text string, log *exported) string
}{
	{"another size", func(text string, log *exported) string {
		line := func(size int64) string { return fmt.Sprintf("\n%d\n", size) }
		return strings.Replace(text, line(log.Size), line(log.Size+1), 1)
	}},
	{"another root", func(text string, log *exported) string {
		root := log.Root
		root[0] ^= 1
		return strings.Replace(text, tlog.Hash(log.Root).String(), tlog.Hash(root).String(), 1)
	}},
	{"another origin", func(text string, log *exported) string {
		return strings.Replace(text, log.Origin+"\n", log.Origin+"1\n", 1)
	}},
	{"a line more", func(text string, log *exported) string {
		return strings.Replace(text, "\n\n", "\nmore\n\n", 1)
	}},
	{"a signature in another name", func(text string, log *exported) string {
		return strings.Replace(text, "\u2014 "+log.Origin+" ", "\u2014 "+log.Origin+"1 ", 1)
	}},
	{"another log's signature", func(text string, log *exported) string {
		body, _, _ := strings.Cut(text, "\n\n")
		_, signatures, _ := strings.Cut(log.Sibling, "\n\n")
		return body + "\n\n" + signatures
	}},
	{"no signature", func(text string, log *exported) string {
		body, _, _ := strings.Cut(text, "\n\n")
		return body + "\n\n"
	}},
	{"a cut note", func(text string, log *exported) string {
		return text[:len(text)-1]
	}},
}

func refusesChangedText(log *exported) (int, error) {
	end := bytes.Index(log.checkpoint, []byte("\n\n"))
	for at := range end + 1 {
		changed := bytes.Clone(log.checkpoint)
		changed[at] ^= 1
		_, err := openNote(changed, log.VKey, log.Origin)
		if err := expectRefused(fmt.Sprintf("byte %d", at), err); err != nil {
			return at, err
		}
	}
	return end + 1, nil
}

// The bytes of the signature and not of its text: in base64 a last digit may have spare bits.
func refusesChangedSignature(log *exported) (int, error) {
	head, digits, ok := strings.Cut(string(log.checkpoint), "\n\n\u2014 "+log.Origin+" ")
	if !ok {
		return 0, errors.New("the signature isn't in the log's name")
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(digits, "\n"))
	if err != nil {
		return 0, err
	}
	for at := range signature {
		changed := bytes.Clone(signature)
		changed[at] ^= 1
		digits := base64.StdEncoding.EncodeToString(changed)
		text := head + "\n\n\u2014 " + log.Origin + " " + digits + "\n"
		_, err := openNote([]byte(text), log.VKey, log.Origin)
		if err := expectRefused(fmt.Sprintf("byte %d", at), err); err != nil {
			return at, err
		}
	}
	return len(signature), nil
}
