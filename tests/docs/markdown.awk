# Reads one page of Markdown and prints what `want` names:
#   links     line <tab> target, for each link and picture outside code
#   anchors   one anchor per heading, as code hosts make them
#   commands  line <tab> marks <tab> command, for each command in a fenced block. Marks are the HTML
#             comments above the block, joined with '|'.
BEGIN { FS = "\t" }

/^[ \t]*```/ {
  fenced = !fenced
  if (fenced) begin_block()
  else end_block()
  next
}

fenced {
  lines[++count] = $0
  numbers[count] = FNR
  next
}

/^<!-- .* -->$/ {
  marks = marks (marks == "" ? "" : "|") substr($0, 6, length($0) - 9)
  next
}

{ marks = "" }

want == "anchors" && /^#+ / {
  anchor = tolower($0)
  sub(/^#+ +/, "", anchor)
  gsub(/[^a-z0-9 _-]/, "", anchor)
  gsub(/ /, "-", anchor)
  print anchor (seen[anchor] ? "-" seen[anchor] : "")
  seen[anchor]++
}

want == "links" {
  text = $0
  gsub(/`[^`]*`/, "", text)
  while (match(text, /\]\([^)]*\)/)) {
    target = substr(text, RSTART + 2, RLENGTH - 3)
    sub(/ ".*"$/, "", target)
    print FNR FS target
    text = substr(text, RSTART + RLENGTH)
  }
  if (match($0, /^\[[^]]*\]: +/)) print FNR FS substr($0, RLENGTH + 1)
}

END {
  if (fenced) print "a block of code does not end" > "/dev/stderr"
}

function begin_block() {
  count = 0
  block_marks = marks
  marks = ""
}

# With prompts, what has none is output. Without, every line that could be a command is one.
function end_block(    i, prompts, command, number) {
  if (want != "commands") return
  for (i = 1; i <= count; i++) if (lines[i] ~ /^\$ /) prompts = 1
  for (i = 1; i <= count; i++) {
    command = lines[i]
    number = numbers[i]
    if (prompts ? command !~ /^\$ / : !looks_like_command(command)) continue
    while (command ~ /\\$/ && i < count) {
      sub(/ *\\$/, "", command)
      sub(/^ */, " ", lines[++i])
      command = command lines[i]
    }
    sub(/^\$ /, "", command)
    sub(/ +#.*$/, "", command)
    print number FS block_marks FS command
  }
}

function looks_like_command(text) {
  while (sub(/^[A-Z_]+=[^ ]* +/, "", text)) continue
  return text ~ /^(\.\/)?(build[^ ]*|scripts)\/[a-z]/ ||
         text ~ /^(sudo|apt|apt-get|cmake|ctest|cpack|headroom|headroom-bench|headroom-kernels)( |$)/
}
