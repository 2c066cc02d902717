package io.fulgurite

import org.scalatest.funsuite.AnyFunSuite

final class DMLScriptSuite extends AnyFunSuite {
  private def parse(line: String) = DMLScript.parse(line.split(' ').toList, DMLScript.Options())

  test("options and named arguments") {
    val options = parse("-s x=1 -stats -explain hops --config fulgurite.threads=2 -exec spark -nvargs X=a=b Y=")
    assert(options.statistics.contains(10) && options.explain.contains("hops"))
    assert(options.config == Map("fulgurite.threads" -> "2", "fulgurite.memory.local" -> "0"))
    assert(options.arguments == Seq("X" -> "a=b", "Y" -> ""))
  }

  test("how many operators statistics show may follow") {
    assert(parse("-s x=1 -stats 3").statistics.contains(3) && parse("-s x=1").statistics.isEmpty)
  }

  test("positional arguments are called by number") {
    assert(parse("-s x=1 -explain -args a -b 3").arguments == Seq("1" -> "a", "2" -> "-b", "3" -> "3"))
  }

  for (line <- Seq("-f", "--unknown", "-exec everywhere", "-nvargs X", "--config X")) {
    test(s"'$line' is an error") { Failures.of("argument")(parse(line)) }
  }
}
