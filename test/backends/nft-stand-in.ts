/**
 * In place of nft (`TestedBackend.standIns`). With -i, each line that does not end a transaction is a write. The table that counts connections is none: the agent writes it
 * with any backend, at times of its own.
 */
export const NFT_STAND_IN = `pass() {
  while IFS= read -r line; do
    case "$line" in
      end-of-*) ;;
      *) may_write || line="no-memory" ;;
    esac
    printf '%s\\n' "$line"
  done
}
case "$1" in
  -i) pass | $real -i ;;
  -f) input=$(cat)
      case "$input" in
        *clusterset-connections*) ;;
        *) may_write || { echo "no memory" >&2; exit 1; } ;;
      esac
      printf '%s\\n' "$input" | $real "$@" ;;
  *) may_read
     exec $real "$@" ;;
esac`;
