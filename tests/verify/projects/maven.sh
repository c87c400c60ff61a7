# Maven with Surefire and JUnit 4: two classes of tests. Without Maven Central, Debian's packages serve: libsurefire-java,
# libmaven-compiler-plugin-java, libmaven-resources-plugin-java and junit4 in /usr/share/maven-repo.

make_project() {
    has mvn && has javac || return $no_tools
    mkdir -p src/main/java src/test/java
    cat >pom.xml <<'X'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>p</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies><dependency>
    <groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope>
  </dependency></dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>SUREFIRE</version></plugin>
  </plugins></build>
</project>
X
    printf 'target\n' >.gitignore
    printf 'public class Sum { public static int of(int a, int b) { return a + b; } }\n' >src/main/java/Sum.java
    printf 'public class SumTest { @org.junit.Test public void adds() { org.junit.Assert.assertEquals(2, Sum.of(1, 1)); } }\n' >src/test/java/SumTest.java
    printf 'public class OtherTest { @org.junit.Test public void holds() { } }\n' >src/test/java/OtherTest.java
    local debian=/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin surefire=3.2.5
    in_place=(mvn -B -ntp test)
    # What Debian has is tried first: nothing is downloaded.
    if [ -d "$debian" ]; then
        cp -rs /usr/share/maven-repo "$place/m2"
        surefire=$(cd "$debian" && printf '%s\n' 2.22.* | tail -1)
        in_place=(mvn -B -ntp -o "-Dmaven.repo.local=$place/m2" test)
    fi
    sed -i "s/SUREFIRE/$surefire/" pom.xml
    timeout 300 "${in_place[@]}" >"$place/log" 2>&1 || return $no_download
    begin <<X
[verify.tests]
command = [$(printf '"%s", ' "${in_place[@]}")]
report = ["**/target/surefire-reports/TEST-*.xml"]
protect = ["src/test/**"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(target) changed=src/main/java/Sum.java comment='//'

# It takes seconds as it is.
heavier() { :; }

cases() {
    says 'a test does not compile' 'failed: exit no-report' <<<'echo "class" >src/test/java/SumTest.java'
    says 'failures are ignored' 'failed: failures' SumTest.adds <<'X'
sed -i 's/a + b/a - b/' src/main/java/Sum.java
sed -i 's|<properties>|&<maven.test.failure.ignore>true</maven.test.failure.ignore>|' pom.xml
X
    says 'tests are skipped by a property' 'failed: no-report' <<<"sed -i 's|<properties>|&<skipTests>true</skipTests>|' pom.xml"
    says 'the process of the tests dies, and its class has no report' 'failed: exit*' <<'X'
printf 'public class ZTest { @org.junit.Test public void ends() { Runtime.getRuntime().halt(0); } }\n' >src/test/java/ZTest.java
X
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' SumTest.adds \
        MAVEN_OPTS=-DskipTests=true <<<"sed -i 's/a + b/a - b/' src/main/java/Sum.java"
    says_of_task 'a test is ignored' 'passed, lost SumTest.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' src/main/java/Sum.java
sed -i 's/@org.junit.Test/@org.junit.Ignore &/' src/test/java/SumTest.java
X
    says_of_task 'settings of the project choose another test' 'passed, lost SumTest.adds; base passed, lost SumTest.adds' <<'X'
sed -i 's/a + b/a - b/' src/main/java/Sum.java
mkdir .mvn
printf -- '-Dtest=OtherTest\n' >.mvn/maven.config
X
}
