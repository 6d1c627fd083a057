#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dist/release: what it refuses, and what it makes from a small repository whose build is a stub.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

command -v git >/dev/null || skip_all "git is not installed"
GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost
export GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

# Stubs of the build: make writes the files that the targets of this project write.
mkdir bin && PATH=$PWD/bin:$PATH
for program in dpkg-buildpackage rpmbuild; do
	printf '#!/bin/sh\n' >bin/$program
done
# shellcheck disable=SC2016 # a script
printf '#!/bin/sh\ntest "$1 $2" = "-fi .." && printf "#!/bin/sh\\n" >../configure && chmod +x ../configure\n' >bin/autoreconf
cat >bin/make <<'END'
#!/bin/sh
# make -s TARGET, in the build directory of a clone
[ -x ../configure ] || exit 1
printf '%s\n' "$2" >>"$MADE"
[ "$2" != "$FAILS" ] || exit 2
[ "$2" != "$EMPTY" ] || exit 0
case $2 in
distcheck) cp ../CHANGELOG.md ibwire-1.2.3.tar.gz ;;
deb) mkdir -p packages/deb && echo deb >packages/deb/ibwire_1.2.3_amd64.deb && echo no >packages/deb/ibwire.buildinfo ;;
rpm) mkdir -p packages/rpm/RPMS/x86_64 && echo rpm >packages/rpm/RPMS/x86_64/ibwire-1.2.3-1.x86_64.rpm ;;
esac
END
chmod +x bin/*
MADE=$PWD/made FAILS="" EMPTY=""
export MADE FAILS EMPTY

mkdir -p tree/dist && cd tree || exit 1
cp "$IBWIRE_SRCDIR/dist/release" "$IBWIRE_SRCDIR/dist/changelog" dist/
# shellcheck disable=SC2016 # a script
printf '#!/bin/sh\n[ -d "$1" ] && [ -f "$2" ] && echo "sbom of ${2##*/}"\n' >dist/sbom.py
chmod +x dist/sbom.py
printf 'AC_INIT([ibwire], [1.2.3], [address])\n' >configure.ac
printf '/build/\n' >.gitignore
printf '# Changes\n\n## 1.2.3 (2026-01-02)\n\nWhat is new.\n\n- A thing.\n\n## 1.2.2 (2026-01-01)\n\nOld.\n' >CHANGELOG.md
git init -q . && git add -A && git commit -qm one

# refuses NAME WORDS - dist/release --dry-run is refused with WORDS, as is dist/release, and there is no tag of it
refuses() {
	said=$(dist/release --dry-run 2>&1)
	equal "refused: $1" "$?" 1
	contains "the message names it: $1" "$said" "$2"
	said=$(dist/release 2>&1)
	equal "refused without --dry-run: $1" "$? $(cat "$MADE" 2>/dev/null)" "1 "
}

# committed COMMAND... - change the tree by a command and commit it
committed() {
	"$@" && git commit -qam change
}

# refuses_edit EXPRESSION FILE NAME WORDS - refuses a commit in which sed has changed the file
refuses_edit() {
	committed sed -i "$1" "$2"
	refuses "$3" "$4"
	git reset -q --hard HEAD~1
}

equal "dist/changelog prints the first section" "$(dist/changelog version; dist/changelog date; dist/changelog text)" "1.2.3
2026-01-02
What is new.

- A thing."
printf 'more\n' >>CHANGELOG.md
refuses "a changed file" "files differ from the commit:  M CHANGELOG.md"
git checkout -q .
touch new
refuses "an untracked file" "?? new"
rm new
refuses_edit 's/\[1.2.3\]/[1.2.4]/' configure.ac "a version without a section" \
	"CHANGELOG.md does not begin with a section \"## 1.2.4 (DATE)\""
refuses_edit 's/\[1.2.3\]/[1.2.2]/' configure.ac "the version of an earlier section" \
	"CHANGELOG.md does not begin with a section \"## 1.2.2 (DATE)\""
refuses_edit 's/ (2026-01-02)//' CHANGELOG.md "a section without a date" "## 1.2.3 (DATE)"
refuses_edit '/new\|thing/d' CHANGELOG.md "an empty section" "is empty"
git tag v1.2.3
refuses "an existing tag" "the tag v1.2.3 exists"
git tag -d v1.2.3 >/dev/null
mkdir -p build/release/ibwire-1.2.3
refuses "an existing folder" "build/release/ibwire-1.2.3 exists"
rm -r build
mv ../bin/rpmbuild ../bin/moved
if ! command -v rpmbuild >/dev/null; then
	refuses "no rpmbuild" "rpmbuild is not installed"
fi
mv ../bin/moved ../bin/rpmbuild

said=$(dist/release --dry-run 2>&1)
equal "a dry run of a good tree succeeds" "$?" 0
for words in "make -s distcheck" "make -s deb" "make -s rpm" "sbom.py" "checksums" "build/release/ibwire-1.2.3" "git tag -a v1.2.3" "- A thing." \
	"nothing was made"; do
	contains "a dry run prints: $words" "$said" "$words"
done
equal "a dry run makes nothing" "$(cat "$MADE" 2>/dev/null)$(git tag)$(ls)" "CHANGELOG.md
configure.ac
dist"

for FAILS in distcheck deb rpm; do
	rm -f "$MADE"
	dist/release >/dev/null 2>&1
	equal "a release whose make $FAILS fails has no tag and no folder" "$? $(tail -n 1 "$MADE") $(git tag)$(ls)" "1 $FAILS CHANGELOG.md
configure.ac
dist"
done
FAILS=""
EMPTY=rpm
said=$(dist/release 2>&1)
equal "a release without the packages of make rpm has no tag and no folder" "$? $(git tag)$(ls)" "1 CHANGELOG.md
configure.ac
dist"
contains "the message names them" "$said" "no *.rpm was made"
EMPTY=""
committed sed -i 's/^\[ -d/false \&\& &/' dist/sbom.py
dist/release >/dev/null 2>&1
equal "a release without a bill of materials has no tag and no folder" "$? $(git tag)$(ls)" "1 CHANGELOG.md
configure.ac
dist"
git reset -q --hard HEAD~1

rm -f "$MADE"
dist/release --no-tag --packages "" --output ../made_here >/dev/null 2>&1
equal "--no-tag, --packages and --output" "$? $(git tag)$(tr '\n' ' ' <"$MADE")$(cd ../made_here && echo ./*)" \
	"0 all distcheck ./SHA256SUMS ./ibwire-1.2.3.spdx.json ./ibwire-1.2.3.tar.gz"

rm -f "$MADE"
succeeds "a release is made" dist/release
equal "the steps, in their order" "$(tr '\n' ' ' <"$MADE")" "all distcheck deb rpm "
cd build/release/ibwire-1.2.3 || exit 1
equal "its files" "$(echo ./*)" "./SHA256SUMS ./ibwire-1.2.3-1.x86_64.rpm ./ibwire-1.2.3.spdx.json ./ibwire-1.2.3.tar.gz\
 ./ibwire_1.2.3_amd64.deb"
succeeds "the checksums are right" sha256sum --quiet -c SHA256SUMS
equal "all files have a checksum" "$(wc -l <SHA256SUMS)" 4
equal "the bill of materials is that of the tarball" "$(cat ibwire-1.2.3.spdx.json)" "sbom of ibwire-1.2.3.tar.gz"
cd ../../..
equal "the tag is annotated, with the section as its message" "$(git for-each-ref --format='%(objecttype) %(contents)' refs/tags/v1.2.3)" \
	"tag ibwire 1.2.3

What is new.

- A thing."
equal "the tag is that of the commit" "$(git rev-parse 'v1.2.3^{commit}')" "$(git rev-parse HEAD)"
said=$(dist/release 2>&1)
equal "a second release of the version is refused" "$?" 1
equal "wrong usage" "$(dist/release --unknown >/dev/null 2>&1; echo $?)" 64
equal "nothing is left in /var/tmp" "$(find /var/tmp -maxdepth 1 -name 'ibwire-release.*' -newer ../bin/make)" ""
done_testing
