#!/bin/sh
# embed_sql.sh FILE…: prints C that holds the migrations NNNN_name.sql, in the order given, and grants.sql as bytes.
set -e
echo '#include "core/db/migrations.h"'
echo '#include <stddef.h>'
rows=''
number=0
for file; do
	base=$(basename "$file" .sql)
	echo "static const unsigned char sql_${base}[] = {"
	od -An -v -tu1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
	echo '0};'
	case $base in
	[0-9]*)
		number=$((number + 1))
		[ "${base%%_*}" = "$(printf %04d $number)" ] || { echo "$file: the next number is $number" >&2; exit 1; }
		rows="$rows {\"${base#*_}\", (const char *)sql_$base},"
		;;
	esac
done
echo "const struct migration migrations[] = {$rows {NULL, NULL}};"
echo 'const char *const migrations_grants = (const char *)sql_grants;'
