# fish completion for dtrain. `dtrain __complete` finds the candidates; this file has the parts that only fish can do.

function __dtrain_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    command -q -- $program; or set program dtrain
    set -e before[1]
    set -l answer ($program __complete $before $current 2>/dev/null); or return
    set -l first (string split \t -- $answer[1])
    set -e answer[1]
    set -l kept $first[3]
    set -l path (string sub -s (math (string length -- "$kept") + 1) -- $current)
    switch $first[1]
        case files
            __dtrain_paths $kept (__fish_complete_path $path)
        case folders
            __dtrain_paths $kept (__fish_complete_directories $path '')
        case command
            # $before has lost the word `dtrain`, so its places are one less and count from 1.
            set -l words
            if test $first[2] -le (count $before)
                set words (string escape -- $before[$first[2]..-1])
            end
            complete -C (string join ' ' -- $words $current)
        case words
            for candidate in $answer
                echo -- $kept$candidate
            end
    end
end

function __dtrain_paths -a kept
    set -e argv[1]
    for path in $argv
        echo -- $kept$path
    end
end

complete -c dtrain -e
complete -c dtrain -k -f -a '(__dtrain_complete)'
