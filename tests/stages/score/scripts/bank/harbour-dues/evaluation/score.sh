# The score is the number of boats whose dues are right.
cd /workspace/input/deliverables || exit 2
right=0
for line in Skua,36 Tern,24 Gannet,60; do
  if [ "$(grep -c "^${line%,*}," dues.csv)" = 1 ] && grep -q "^$line" dues.csv; then
    right=$((right + 1))
  else
    echo "not right: ${line%,*}"
  fi
done
echo "$right"
