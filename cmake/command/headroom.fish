# Completion of headroom's command line in fish. The program itself says what can follow.

function __headroom_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l candidates ($words[1] complete $words[2..-1] "$last" 2>/dev/null)
    if test (count $candidates) -gt 0
        printf '%s\n' $candidates
    else
        __fish_complete_path "$last"
    end
end

complete -c headroom -f -a '(__headroom_complete)'
