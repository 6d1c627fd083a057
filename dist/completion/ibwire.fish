# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# fish completion of ibwire and ibwire-sim: commands and options as the installed program lists them, and hosts,
# switches and ports of the database

# Subjects: hosts and switches, or the ports of the node before a "/", as in the completion of bash.
function __ibwire_subjects --argument-names program word
	set -l node 's,[ /].*,,'
	string match -q '*/*' -- $word; and set node ''
	$program ports $argv[3..-1] --columns name --format csv 2>/dev/null |
		sed "1d;$node" | tr -d '\r' | grep -x '[A-Za-z0-9._:/-]*' | uniq
end

function __ibwire_candidates
	set -l words (commandline -opc)
	set -l word (commandline -ct)
	set -l program $words[1]
	set -l command ''
	set -l database
	set -l before

	for one in $words[2..-1]
		if test "$before" = --db
			set database --db $one
		else if test -z "$command"; and not string match -q -- '-*' $one
			set command $one
		end
		set before $one
	end
	switch "$before"
	case --format
		printf '%s\n' table json csv
	case --color
		printf '%s\n' auto always never
	case --discovery
		printf '%s\n' libibnetdisc explorer
	case --routing
		printf '%s\n' kept minhop updn
	case --sort --columns
		$program $command --columns help 2>/dev/null | sed '1d;s/ .*//'
	case -e --explain
		echo all
		$program $command --explain all 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p'
	case --db --settings --topology --node-name-map --report --html --plan --nccl --security-keys --root --capture --from --hosts-map --output
		__fish_complete_path $word
	case '*'
		if test -z "$command"; or test "$command" = help
			$program --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
		else if string match -q -- '-*' $word
			$program $command --help 2>/dev/null |
				sed -n 's/^ \{2,\}\(-., *\)\{0,1\}\(--[A-Za-z-]*\)[^ ]*\( [A-Z][^ ]*\)\{0,1\} *\(.*\)/\2\t\4/p'
		else
			# Subcommands: the words of the usage line, "take NAME|list|diff [A [B]]".
			set -l usage ($program $command --help 2>/dev/null | sed -n '1s/.*\[options\]//p')
			string match -q '*SUBJECT*' -- $usage; and __ibwire_subjects $program $word $database
			printf '%s\n' $usage | tr '|' '\n' | sed -n 's/^[[ ]*\([a-z][a-z-]*\).*/\1/p'
		end
	end
end

# Files, where nothing else is known.
function __ibwire_complete
	set -l list (__ibwire_candidates)
	if test (count $list) -gt 0
		printf '%s\n' $list
	else
		__fish_complete_path (commandline -ct)
	end
end

complete -c ibwire -f -a '(__ibwire_complete)'
complete -c ibwire-sim -f -a '(__ibwire_complete)'
