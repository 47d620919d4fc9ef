/** In place of nft (`TestedBackend.standIns`). With -i, each line that does not end a transaction is a write. */
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
  -f) may_write || { echo "no memory" >&2; exit 1; }
      exec $real "$@" ;;
  *) may_read
     exec $real "$@" ;;
esac`;
